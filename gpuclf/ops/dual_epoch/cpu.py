"""Dual coordinate descent on the CPU: walks the sparse rows, replicas of one view together."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.dual_epoch import DualModel, DualRows
from gpuclf.ops.dual_epoch.logistic_duals import logistic_duals, logistic_scratch
from gpuclf.ops.gathered_sum import gathered_sum, scattered_add
from gpuclf.ops.kernel import kernel
from gpuclf.ops.prefetch import prefetch
from gpuclf.ops.sparse_rows import flat_weights, row_values
from gpuclf.ops.threads import run_on_threads

_LINE = 64  # bytes in a line of the cache


def dual_epoch(
    kind: str,
    rows: DualRows,
    order: Tensor,
    view: int,
    bounds: Tensor,
    cost: Tensor | None,
    offset: bool,
    model: DualModel,
) -> None:
    """See `gpuclf.ops.dual_epoch`."""
    columns, _, classes = model.weights.shape
    docs = rows.labels.numel()
    col_scale = np.ones(columns, np.float32) if rows.col_scale is None else rows.col_scale[view].numpy()
    row_scale = np.ones(docs, np.float32) if rows.row_scale is None else rows.row_scale[view].numpy()
    csr = (rows.crow.numpy(), rows.col.numpy(), rows.val.numpy(), rows.labels.numpy(), col_scale, row_scale)
    costs = np.ones((classes, classes)) if cost is None else cost.numpy().copy()
    np.fill_diagonal(costs, 0.0)
    enough = _ENOUGH[model.weights.dtype.itemsize]
    common = (kind == "logistic", enough, *csr, order.contiguous().numpy(), costs, offset, classes)
    run_on_threads([partial(_walk, *common, *part) for part in _parts(model, bounds)])


def _parts(model: DualModel, bounds: Tensor) -> list[tuple[Any, ...]]:
    """The replicas in as many portions as there are threads: bounds, weights and duals with their strides.

    A portion walks together: a feature's weights of neighbouring replicas come from memory at once.
    """
    replicas = model.weights.shape[1]
    size = max(1, -(-replicas // torch.get_num_threads()))
    parts = []
    for first in range(0, replicas, size):
        some = slice(first, first + size)
        own = bounds[:, some].contiguous().numpy()
        parts.append((own, *flat_weights(model.weights[:, some]), *flat_weights(model.duals[:, some])))
    return parts


_ENOUGH = {8: 1e-10, 4: 1e-7}  # bytes of a number -> how exact the duals of a logistic document are to be


@kernel
def _walk(
    logistic: Any, enough: Any, crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any,
    costs: Any, offset: Any, classes: Any, bounds: Any, weights: Any, stride: Any, duals: Any, step: Any,
) -> None:  # fmt: skip
    longest = 0
    for n in order:
        longest = max(longest, crow[n + 1] - crow[n])
    index = np.empty(longest + 1, np.int64)
    x = np.empty(longest + 1, weights.dtype)
    width = bounds.shape[1] * classes
    scores = np.empty(width, weights.dtype)
    change = np.empty(width, weights.dtype)
    linear = np.empty(classes)
    fresh = np.empty(classes)
    scratch = logistic_scratch(classes)
    line = _LINE // weights.itemsize
    for n in order:
        y = labels[n]
        count, square = row_values(crow, col, val, n, col_scale, row_scale, index, x)
        if not offset:
            x[0] = 0
            square = square - 1.0 if count > 1 else 0.0
        for entry in range(count):  # a row of weights would wait for memory when it is first asked for
            for j in range(0, width + line - 1, line):
                prefetch(weights, index[entry] * stride + min(j, width - 1))
        gathered_sum(weights, index, stride, x, count, 0, scores)
        moved = False
        for r in range(bounds.shape[1]):
            bound = bounds[n, r]
            own = scores[r * classes : (r + 1) * classes]
            by = change[r * classes : (r + 1) * classes]
            by[:] = 0
            if bound <= 0:
                continue
            old = duals[n * step + r * classes : n * step + (r + 1) * classes]
            _best_duals(logistic, enough, costs[y], y, square, bound, own, old, linear, scratch, fresh)
            for k in range(classes):
                new = weights.dtype.type(fresh[k])
                by[k] = old[k] - new if logistic else new - old[k]
                moved = moved or by[k] != 0
                old[k] = new
        if moved:
            scattered_add(weights, index, stride, x, count, change)


@kernel
def _best_duals(
    logistic: Any, enough: Any, costs: Any, y: Any, square: Any, bound: Any, scores: Any, old: Any,
    linear: Any, scratch: Any, fresh: Any,
) -> None:  # fmt: skip
    """Fills `fresh` with the duals of a document that are best with all others fixed; linear and scratch are room."""
    if square <= 0:
        _empty_duals(logistic, costs, y, bound, fresh)
    elif logistic:
        for k in range(fresh.size):
            linear[k] = np.float64(scores[k]) + square * np.float64(old[k])
        logistic_duals(linear, square, bound, enough, old, fresh, scratch)
    else:
        for k in range(fresh.size):
            linear[k] = np.float64(scores[k]) + costs[k] - square * np.float64(old[k])
        _margin_duals(linear, y, square, bound, fresh)


@kernel
def _empty_duals(logistic: Any, costs: Any, y: Any, bound: Any, fresh: Any) -> None:
    """Without features and offset all scores are 0, and the duals are those of that loss."""
    worst = y
    for k in range(fresh.size):
        fresh[k] = bound / fresh.size if logistic else 0.0
        if costs[k] > costs[worst]:
            worst = k
    if worst != y and not logistic:
        fresh[y], fresh[worst] = bound, -bound


@kernel
def _margin_duals(linear: Any, y: Any, square: Any, bound: Any, a: Any) -> None:
    """The level beta by taking classes out until all that are left lie above it (Michelot 1986)."""
    limit = square * bound
    total = limit
    number = linear.size
    for k in range(linear.size):
        total += linear[k]
        a[k] = linear[k] + (limit if k == y else 0.0)
    beta = (total - limit) / number
    while True:
        total = -limit
        left = 0
        for k in range(linear.size):
            if a[k] > beta:
                total += a[k]
                left += 1
        if left >= number or left == 0:  # the sets are nested, but for rounding
            break
        number = left
        beta = total / number
    for k in range(linear.size):
        a[k] = min(bound if k == y else 0.0, (beta - linear[k]) / square)
