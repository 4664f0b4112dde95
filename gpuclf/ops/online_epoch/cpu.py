"""The online epoch on the CPU: walks the sparse rows directly, one task per stream or part of a stream's replicas."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import gcd
from typing import Any

import numpy as np
import torch

from gpuclf.ops.kernel import kernel
from gpuclf.ops.online_epoch.records import Counts, Model, Rule, ScaledRows, Streams, no_counts
from gpuclf.ops.prefetch import prefetch
from gpuclf.ops.sparse_rows import block_scores, flat_weights, row_values
from gpuclf.ops.threads import run_on_threads

_WIDEST = 1024  # weights of a feature that a task takes: a row's weights stay in the L2 cache for the update
_STEPS = {"perceptron": 0, "pa1": 1, "pa2": 2}


def online_epoch(
    rows: ScaledRows, streams: Streams, rule: Rule, model: Model, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.online_epoch`."""
    columns, _, classes = model.weights.shape
    docs = rows.labels.numel()
    flat, stride = flat_weights(model.weights)
    sums, sums_stride = (flat[:0], 0) if model.sums is None else flat_weights(model.sums)
    counts = no_counts(model)
    mistakes, updates, loss = (part.numpy() for part in counts)
    col_scale = np.ones((1, columns), np.float32) if rows.col_scale is None else rows.col_scale.numpy()
    row_scale = np.ones((1, docs), np.float32) if rows.row_scale is None else rows.row_scale.numpy()
    cost = np.ones((classes, classes)) if rule.cost is None else rule.cost.contiguous().numpy()
    C, gamma, steps = rule.C.numpy(), rule.gamma.numpy(), model.steps.numpy()
    kind = (_STEPS[rule.step], rule.update_on == "margin", rule.scaled_margin, rule.cost_augmented)
    view, lengths = streams.view.tolist(), (streams.order >= 0).sum(1).tolist()
    csr = (rows.crow.numpy(), rows.col.numpy(), rows.val.numpy(), rows.labels.numpy())
    pieces = []
    for g, first, last in _tasks(streams.start.tolist(), lengths, classes, torch.get_num_threads()):
        scales = (col_scale[view[g] % len(col_scale)], row_scale[view[g] % len(row_scale)])
        part = slice(first, last)
        pieces.append(
            partial(
                _walk, *csr, *scales, streams.order[g, : lengths[g]].numpy(), batch, mean,
                flat[first * classes :], stride, sums[first * classes :], sums_stride, classes,
                *kind, C[part], gamma[part], cost, steps[part], mistakes[part], updates[part], loss[part],
            )
        )  # fmt: skip
    run_on_threads(pieces)
    return counts


def _tasks(start: list[int], lengths: list[int], classes: int, threads: int) -> list[tuple[int, int, int]]:
    """(stream, first replica, last replica + 1) of each task, the longest first.

    A whole stream is the cheapest task, as its rows are read once; but tasks of equal length must fill all threads. So
    as many streams as go evenly into the threads stay whole and the others are cut into equal parts.
    """
    sizes = [(start[g + 1] - start[g]) * lengths[g] for g in range(len(lengths))]
    by_size = sorted((g for g, size in enumerate(sizes) if size), key=lambda g: (-sizes[g], g))
    left_over = len(by_size) % threads
    parts = threads // gcd(left_over, threads) if left_over else 1
    tasks = []
    for rank, g in enumerate(by_size):
        count = start[g + 1] - start[g]
        widest = max(1, _WIDEST // classes)
        wanted = max(parts if rank >= len(by_size) - left_over else 1, -(-count // widest))
        cuts = [start[g] + count * i // wanted for i in range(wanted + 1)]
        tasks += [(g, a, b) for a, b in pairwise(cuts) if a < b]
    return sorted(tasks, key=lambda task: ((task[1] - task[2]) * lengths[task[0]], task))


@kernel
def _walk(
    crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any, batch: Any, mean: Any,
    flat: Any, stride: Any, sums: Any, sums_stride: Any, classes: Any,
    step: Any, on_margin: Any, scaled: Any, augmented: Any, C: Any, gamma: Any, cost: Any, steps: Any,
    mistakes: Any, updates: Any, loss: Any,
) -> None:  # fmt: skip
    """One epoch of a block of neighbouring replicas, whose weights of feature v begin at flat[v · stride].

    Per batch of rows: score and decide with the weights as they stand, then apply the updates row by row.
    """
    longest = 0
    for n in order:
        longest = max(longest, crow[n + 1] - crow[n])
    replicas = C.size
    columns = np.empty(longest + 1, np.int64)
    x = np.empty(longest + 1, flat.dtype)
    scores = np.empty(replicas * classes, flat.dtype)
    alpha = np.empty((batch, replicas))
    rival = np.empty((batch, replicas), np.int64)
    count = 0
    for begin in range(0, order.size, batch):
        size = min(batch, order.size - begin)
        some = False
        for b in range(size):
            n = order[begin + b]
            y = labels[n]
            count, square = row_values(crow, col, val, n, col_scale, row_scale, columns, x)
            block_scores(flat, stride, 0, columns, x, count, scores)
            for r in range(replicas):
                a, k, wrong, hinge = _decide(
                    scores[r * classes : (r + 1) * classes], y, square,
                    step, on_margin, scaled, augmented, C[r], gamma[r], cost,
                )  # fmt: skip
                alpha[b, r], rival[b, r] = a, k
                mistakes[r] += wrong
                updates[r] += a > 0
                loss[r] += hinge
                some = some or a > 0
        if not some:
            continue
        for b in range(size):
            n = order[begin + b]
            if size > 1:
                count, _ = row_values(crow, col, val, n, col_scale, row_scale, columns, x)
            share = 1.0 / size if mean else 1.0
            _apply(
                columns, x, count, labels[n], alpha[b], rival[b], share, steps, begin,
                flat, stride, sums, sums_stride, classes,
            )  # fmt: skip


@kernel
def _decide(
    s: Any, y: Any, square: Any,
    step: Any, on_margin: Any, scaled: Any, augmented: Any, C: Any, gamma: Any, cost: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """Step length (0: no update), rival class, 1 for a wrong prediction, and loss, from one replica's scores."""
    rival = -1
    best = 0
    highest = -np.inf
    for k in range(s.size):
        if s[k] > s[best]:
            best = k
        if k != y:
            height = np.float64(s[k]) + (cost[y, k] if augmented else 0.0)
            if rival < 0 or height > highest:
                rival, highest = k, height
    if rival < 0:  # a single class: nothing to tell apart
        return 0.0, 0, 0, 0.0
    wrong = best != y
    m = np.float64(s[y]) - np.float64(s[rival])
    if step == 0:
        return (1.0 if wrong else 0.0), rival, np.int64(wrong), max(0.0, -m)
    target = gamma * np.sqrt(2.0 * square) if scaled else cost[y, rival]
    alpha = 0.0
    if (m < target) if on_margin else wrong:
        alpha = (target - m) / (2.0 * square + (0.5 / C if step == 2 else 0.0))
        if step == 1:
            alpha = min(C, alpha)
    return alpha, rival, np.int64(wrong), max(0.0, target - m)


@kernel
def _apply(
    columns: Any, x: Any, count: Any, y: Any, alpha: Any, rival: Any, share: Any, steps: Any, before: Any,
    flat: Any, stride: Any, sums: Any, sums_stride: Any, classes: Any,
) -> None:  # fmt: skip
    """W[v, r, y] += share·alpha[r]·x[v], W[v, r, rival[r]] -= the same, and the sums by steps[r] + before as much."""
    dtype = x.dtype.type
    todo = 0
    to_gold = np.empty(alpha.size, np.int64)
    to_rival = np.empty(alpha.size, np.int64)
    length = np.empty(alpha.size, x.dtype)
    weighted = np.empty(alpha.size, x.dtype)
    for r in range(alpha.size):
        if alpha[r] > 0:
            to_gold[todo] = r * classes + y
            to_rival[todo] = r * classes + rival[r]
            length[todo] = dtype(alpha[r] * share)
            weighted[todo] = dtype(alpha[r] * share * (steps[r] + before))
            todo += 1
    if not todo:
        return
    for i in range(count):
        base = columns[i] * stride
        for j in range(todo):
            change = length[j] * x[i]
            if sums.size:  # the row's weights are still in the cache, their sums are not
                prefetch(sums, columns[i] * sums_stride + to_gold[j])
                prefetch(sums, columns[i] * sums_stride + to_rival[j])
            flat[base + to_gold[j]] += change
            flat[base + to_rival[j]] -= change
    if sums.size:
        for i in range(count):
            base = columns[i] * sums_stride
            for j in range(todo):
                change = weighted[j] * x[i]
                sums[base + to_gold[j]] += change
                sums[base + to_rival[j]] -= change
