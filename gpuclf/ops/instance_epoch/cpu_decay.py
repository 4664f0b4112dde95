"""The online support vector machine on the CPU: weights that all decay at every instance, by one scalar a replica."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.instance_epoch.cpu_walk import add, longest_row
from gpuclf.ops.instance_epoch.records import FOLD_BELOW
from gpuclf.ops.kernel import kernel
from gpuclf.ops.sparse_rows import block_scores, row_values


@kernel
def walk_decaying(
    crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any,
    flat: Any, stride: Any, sums: Any, sums_stride: Any, classes: Any,
    rates: Any, decays: Any, steps: Any, mistakes: Any, updates: Any, loss: Any,
    cost: Any, inverse: Any,
) -> None:  # fmt: skip
    """One epoch of a block of neighbouring replicas; scale is a, total A of `gpuclf.ops.instance_epoch`."""
    replicas = rates.size
    columns = np.empty(longest_row(crow, order) + 1, np.int64)
    x = np.empty(columns.size)
    scores = np.empty(replicas * classes)
    scale = np.ones(replicas)
    total = steps.astype(np.float64)
    features = col_scale.size
    for at in range(order.size if classes > 1 else 0):
        n = order[at]
        y = labels[n]
        count, _ = row_values(crow, col, val, n, col_scale, row_scale, columns, x)
        block_scores(flat, stride, 0, columns, x, count, scores)
        for r in range(replicas):
            s = scores[r * classes : (r + 1) * classes]
            best, rival, violation = _augmented(s, y, scale[r], cost)
            mistakes[r] += best != y
            t = np.float64(steps[r] + at + 1)
            rate, keep = rates[r], 1.0 - decays[r]
            if inverse:
                rate, keep = 1.0 / (decays[r] * t), (1.0 - 1.0 / t if t > 1.0 else 1.0)
            scale[r] *= keep
            if rival != y:
                updates[r] += 1
                finite = True
                for i in range(count):
                    change = rate / scale[r] * x[i]
                    for cell, by in ((r * classes + y, change), (r * classes + rival, -change)):
                        finite &= add(flat, columns[i] * stride + cell, by)
                        if sums.size:
                            finite &= add(sums, columns[i] * sums_stride + cell, total[r] * by)
                violation = violation if finite else np.nan
            loss[r] += violation
            total[r] += scale[r]
            if scale[r] < FOLD_BELOW:
                _fold(flat, stride, sums, sums_stride, features, classes, r, scale[r], t * scale[r] - total[r])
                scale[r], total[r] = 1.0, t
    for r in range(replicas):
        if scale[r] != 1.0:
            t = np.float64(steps[r] + order.size)
            _fold(flat, stride, sums, sums_stride, features, classes, r, scale[r], t * scale[r] - total[r])


@kernel
def _augmented(s: Any, y: Any, scale: Any, cost: Any) -> tuple[Any, Any, Any]:
    """The highest class; the highest one by score + cost, and how far it is above class y. Ties to the lowest."""
    best = 0
    rival = 0
    highest = scale * s[0] + cost[y, 0]
    for k in range(1, s.size):
        if s[k] > s[best]:
            best = k
        height = scale * s[k] + cost[y, k]
        if height > highest:
            rival, highest = k, height
    return best, rival, highest - scale * s[y]


@kernel
def _fold(
    flat: Any, stride: Any, sums: Any, sums_stride: Any, features: Any, classes: Any, r: Any, scale: Any, factor: Any
) -> None:
    """The weights of replica r take over the scale; factor · what they were goes to the sums."""
    for v in range(features):
        for k in range(r * classes, (r + 1) * classes):
            old = np.float64(flat[v * stride + k])
            if sums.size:
                sums[v * sums_stride + k] = np.float64(sums[v * sums_stride + k]) + factor * old
            flat[v * stride + k] = scale * old
