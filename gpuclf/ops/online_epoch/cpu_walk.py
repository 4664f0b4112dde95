"""The exact algorithm on the CPU: one row after the other, for all replicas of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.kernel import kernel
from gpuclf.ops.sparse_rows import block_scores, row_values


@kernel
def walk(
    crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any, batch: Any, mean: Any,
    log: Any, flat: Any, stride: Any, sums: Any, classes: Any,
    step: Any, on_margin: Any, scaled: Any, augmented: Any, C: Any, gamma: Any, cost: Any, steps: Any,
    mistakes: Any, updates: Any, loss: Any, limited: Any, lead: Any,
) -> Any:  # fmt: skip
    """One epoch of a block of neighbouring replicas, whose weights of feature v begin at flat[v · stride].

    Per batch of rows: score and decide with the weights as they stand, then apply the updates row by row. Sums get the
    updates of the offset here, all others from the log afterwards.

    Replicas lead-1, lead, … have had the same history so far and are worked on once, as replica lead-1; the first of
    them whose C limits a step goes its own way from there. Returns the lead at the end; from there on only counts are
    filled in, the weights by the sweep.
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
            block_scores(flat, stride, 0, columns, x, count, scores[: lead * classes])
            r = 0
            while r < lead:
                s = scores[r * classes : (r + 1) * classes]
                a, k, wrong, hinge, over = _decide(
                    s, y, square, step, on_margin, scaled, augmented, C[r], gamma[r], cost
                )
                if over and r == lead - 1 and lead < replicas:
                    _part(crow, col, order[:begin], log, flat, stride, sums, classes, r)
                    scores[lead * classes : (lead + 1) * classes] = s
                    alpha[:b, lead], rival[:b, lead] = alpha[:b, r], rival[:b, r]
                    mistakes[lead], updates[lead], loss[lead] = mistakes[r], updates[r], loss[r]
                    lead += 1
                alpha[b, r], rival[b, r] = a, k
                mistakes[r] += wrong
                updates[r] += a > 0
                loss[r] += hinge
                limited[r] = limited[r] or over
                some = some or a > 0
                r += 1
        if not some:
            continue
        for b in range(size):
            n = order[begin + b]
            if size > 1:
                count, _ = row_values(crow, col, val, n, col_scale, row_scale, columns, x)
            share = 1.0 / size if mean else 1.0
            _apply(
                columns, x, count, n, labels[n], row_scale[n], alpha[b, :lead], rival[b, :lead], share, steps, begin,
                log, flat, stride, sums, classes,
            )  # fmt: skip
    for r in range(lead, replicas):
        mistakes[r], updates[r], loss[r] = mistakes[lead - 1], updates[lead - 1], loss[lead - 1]
    return lead


@kernel
def _part(
    crow: Any, col: Any, before: Any, log: Any, flat: Any, stride: Any, sums: Any, classes: Any, r: Any
) -> None:  # fmt: skip
    """Replica r + 1 gets what replica r has; both were equal before the rows `before` were visited."""
    for k in range(r * classes, (r + 1) * classes):
        flat[k + classes] = flat[k]
        if sums.size:
            sums[k + classes] = sums[k]
    for n in before:
        last = log.fill[n] - 1
        if last < 0 or log.cells[n, last, 0] < r * classes:
            continue
        log.fill[n] += 1
        log.cells[n, last + 1, 0] = log.cells[n, last, 0] + classes
        log.cells[n, last + 1, 1] = log.cells[n, last, 1] + classes
        log.amount[n, last + 1] = log.amount[n, last]
        for e in range(crow[n], crow[n + 1]):
            base = np.int64(col[e]) * stride
            for k in range(base + r * classes, base + (r + 1) * classes):
                flat[k + classes] = flat[k]


@kernel
def _decide(
    s: Any, y: Any, square: Any,
    step: Any, on_margin: Any, scaled: Any, augmented: Any, C: Any, gamma: Any, cost: Any,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """From one replica's scores: step length (0: no update), rival class, 1 for a wrong prediction, loss, and whether
    the step depends on C.
    """
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
        return 0.0, 0, 0, 0.0, False
    wrong = best != y
    m = np.float64(s[y]) - np.float64(s[rival])
    if step == 0:
        return (1.0 if wrong else 0.0), rival, np.int64(wrong), max(0.0, -m), False
    target = gamma * np.sqrt(2.0 * square) if scaled else cost[y, rival]
    alpha = 0.0
    limited = False
    if (m < target) if on_margin else wrong:
        alpha = (target - m) / (2.0 * square + (0.5 / C if step == 2 else 0.0))
        limited = alpha > (C if step == 1 else 0.0)
        if step == 1:
            alpha = min(C, alpha)
    return alpha, rival, np.int64(wrong), max(0.0, target - m), limited


@kernel
def _apply(
    columns: Any, x: Any, count: Any, n: Any, y: Any, scale: Any, alpha: Any, rival: Any, share: Any, steps: Any,
    before: Any, log: Any, flat: Any, stride: Any, sums: Any, classes: Any,
) -> None:  # fmt: skip
    """W[v, r, y] += share·alpha[r]·x[v], W[v, r, rival[r]] -= the same; logs steps[r] + before as much for the sums."""
    dtype = x.dtype.type
    todo = 0
    to_gold = np.empty(alpha.size, np.int64)
    to_rival = np.empty(alpha.size, np.int64)
    length = np.empty(alpha.size, x.dtype)
    for r in range(alpha.size):
        if alpha[r] > 0:
            to_gold[todo] = r * classes + y
            to_rival[todo] = r * classes + rival[r]
            length[todo] = dtype(alpha[r] * share)
            if log.fill.size:
                weighted = alpha[r] * share * (steps[r] + before)
                log.cells[n, todo, 0], log.cells[n, todo, 1] = to_gold[todo], to_rival[todo]
                log.amount[n, todo] = dtype(weighted) * dtype(scale)
                if sums.size:
                    sums[to_gold[todo]] += dtype(weighted)
                    sums[to_rival[todo]] -= dtype(weighted)
            todo += 1
    if log.fill.size:
        log.fill[n] = todo
    for i in range(count):
        base = columns[i] * stride
        for j in range(todo):
            change = length[j] * x[i]
            flat[base + to_gold[j]] += change
            flat[base + to_rival[j]] -= change
