"""The online epoch on the CPU: walks the sparse rows directly, one task per stream or part of a stream's replicas."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.ops.online_epoch.cpu_sums import Part, by_feature, join, new_log, sweep
from gpuclf.ops.online_epoch.cpu_walk import walk
from gpuclf.ops.online_epoch.records import Counts, Model, Rule, ScaledRows, Streams, no_counts
from gpuclf.ops.online_epoch.tasks import tasks
from gpuclf.ops.sparse_rows import flat_weights
from gpuclf.ops.threads import run_on_threads

_STEPS = {"perceptron": 0, "pa1": 1, "pa2": 2}


def online_epoch(
    rows: ScaledRows, streams: Streams, rule: Rule, model: Model, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.online_epoch`. Replicas that no C has limited yet are worked on once: see `cpu_walk.walk`."""
    columns, _, classes = model.weights.shape
    docs = rows.labels.numel()
    flat, stride = flat_weights(model.weights)
    sums = flat[:0] if model.sums is None else flat_weights(model.sums)[0]
    counts = no_counts(model.steps)
    mistakes, updates, loss = (part.numpy() for part in counts)
    limited = (torch.ones_like(model.steps, dtype=torch.bool) if model.limited is None else model.limited).numpy()
    col_scale = np.ones((1, columns), np.float32) if rows.col_scale is None else rows.col_scale.numpy()
    row_scale = np.ones((1, docs), np.float32) if rows.row_scale is None else rows.row_scale.numpy()
    cost = np.ones((classes, classes)) if rule.cost is None else rule.cost.contiguous().numpy()
    C, gamma, steps = rule.C.numpy(), rule.gamma.numpy(), model.steps.numpy()
    kind = (_STEPS[rule.step], rule.update_on == "margin", rule.scaled_margin, rule.cost_augmented)
    view, start, lengths = streams.view.tolist(), streams.start.tolist(), (streams.order >= 0).sum(1).tolist()
    csr = (rows.crow.numpy(), rows.col.numpy(), rows.val.numpy())
    labels = rows.labels.numpy()
    own = [_walked(rule, limited, steps, a, b) for a, b in pairwise(start)]
    logged = docs if sums.size or own != start[1:] else 0

    parts: list[Part] = []

    def work(g: int, first: int, last: int) -> None:
        part, cells = slice(first, last), slice(first * classes, None)
        scales = (col_scale[view[g] % len(col_scale)], row_scale[view[g] % len(row_scale)])
        log = new_log(logged, last - first, flat.dtype)
        lead = walk(
            *csr, labels, *scales, streams.order[g, : lengths[g]].numpy(), batch, mean, log,
            flat[cells], stride, sums[cells], classes,
            *kind, C[part], gamma[part], cost, steps[part],
            mistakes[part], updates[part], loss[part], limited[part], min(own[g], last) - first,
        )  # fmt: skip
        parts.append(Part(log, view[g] % len(col_scale), first, first + lead, last))  # in any order

    pieces = tasks(start, own, lengths, classes, torch.get_num_threads())
    run_on_threads([partial(work, *piece) for piece in pieces])
    if logged and parts:
        _sweep(by_feature(*csr, _visited(streams, docs), columns - 1), parts, col_scale, model, classes)
    return counts


def _sweep(
    entries: tuple[NDArray[Any], ...], parts: list[Part], col_scale: NDArray[Any], model: Model, classes: int
) -> None:
    """What the walk left to do, for runs of features with about equally many entries on all threads."""
    flat, stride = flat_weights(model.weights)
    sums, sums_stride = (flat[:0], 0) if model.sums is None else flat_weights(model.sums)
    copies = [(p.lead - 1, r, b) for b, p in enumerate(parts) for r in range(p.lead, p.last)]
    columns = np.array(copies, np.int64).reshape(-1, 3).T.copy()
    view = np.array([part.view for part in parts])
    joined = join(parts, classes, model.weights[0].numel())
    begin, pieces = entries[0], 4 * torch.get_num_threads()
    cuts = np.searchsorted(begin[:-1], begin[-1] * np.arange(1, pieces) // pieces)
    bounds = [0, *np.unique(cuts[(cuts > 0) & (cuts < len(begin) - 1)]).tolist(), len(begin) - 1]
    run_on_threads([
        partial(sweep, a, b, *entries, col_scale, view, joined, flat, stride, sums, sums_stride, *columns, classes)
        for a, b in pairwise(bounds)
    ])  # fmt: skip


def _visited(streams: Streams, docs: int) -> NDArray[Any]:
    """(docs,) bool: rows of any stream."""
    visited = torch.zeros(docs + 1, dtype=torch.bool)
    visited[streams.order.flatten()] = True  # -1, no row, is the last place
    return visited[:docs].numpy()


def _walked(rule: Rule, limited: NDArray[Any], steps: NDArray[Any], first: int, last: int) -> int:
    """End of the stream's replicas that are walked: those from the last of them on have one history so far.

    These are replicas whose steps no C has limited yet; their C must not fall, so that the first is limited first.
    """
    C, gamma = rule.C, rule.gamma
    end = last
    while end - 1 > first and not (limited[end - 1] or limited[end - 2]):
        a, b = end - 2, end - 1
        if not (C[a] <= C[b] and steps[a] == steps[b] and (gamma[a] == gamma[b] or not rule.scaled_margin)):
            break
        end -= 1
    return end
