"""Scores on the CPU: a document's non-zeros in turn, each a multiple of one contiguous block of weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.gathered_sum import gathered_sum
from gpuclf.ops.kernel import kernel
from gpuclf.ops.prefetch import prefetch
from gpuclf.ops.sparse_rows import flat_weights, row_values
from gpuclf.ops.threads import run_on_threads

_PIECE = 64  # documents in one piece of work
_LINE = 64  # bytes in a line of the cache


def sparse_scores(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    docs: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    weights: Tensor,
    double: bool = False,
) -> Tensor:
    """See `gpuclf.ops.sparse_scores`."""
    columns, replicas, classes = weights.shape
    out = weights.new_empty((docs.numel(), replicas, classes))
    if not out.numel():
        return out.permute(1, 0, 2)
    flat, stride = flat_weights(weights)
    scales = (
        np.ones(columns, np.float32) if col_scale is None else col_scale.numpy(),
        np.ones(crow.numel() - 1, np.float32) if row_scale is None else row_scale.numpy(),
    )
    rows = (crow.numpy(), col.numpy(), val.numpy(), *scales)
    number = np.zeros(0, np.float64 if double else flat.dtype)  # tells the kernel in which type to sum
    order, cells = docs.contiguous().numpy(), out.numpy().reshape(docs.numel(), -1)
    pieces = [
        partial(_score, *rows, order[start : start + _PIECE], flat, stride, number, cells[start : start + _PIECE])
        for start in range(0, docs.numel(), _PIECE)
    ]
    run_on_threads(pieces)
    return torch.from_numpy(cells).view(docs.numel(), replicas, classes).permute(1, 0, 2)


@kernel
def _score(
    crow: Any,
    col: Any,
    val: Any,
    col_scale: Any,
    row_scale: Any,
    docs: Any,
    flat: Any,
    stride: Any,
    number: Any,
    out: Any,
) -> None:
    longest = 0
    for n in docs:
        longest = max(longest, crow[n + 1] - crow[n])
    columns = np.empty(longest + 1, np.int64)
    x = np.empty(longest + 1, number.dtype)
    sums = np.empty(out.shape[1], number.dtype)
    line = _LINE // flat.itemsize
    for i in range(docs.size):
        count, _ = row_values(crow, col, val, docs[i], col_scale, row_scale, columns, x)
        for entry in range(count):  # a row of weights is read in several goes, the first of which would wait for memory
            for j in range(0, sums.size, line):
                prefetch(flat, columns[entry] * stride + j)
        gathered_sum(flat, columns, stride, x, count, 0, sums)
        out[i] = sums
