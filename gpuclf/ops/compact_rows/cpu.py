"""Compact rows on a CPU: one walk over the entries to mark the columns, one to number them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


def compact_rows(
    crow: Tensor, col: Tensor, val: Tensor, docs: Tensor, col_scale: Tensor | None, num_features: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """See the package."""
    scale = np.ones(num_features + 1, np.float32) if col_scale is None else col_scale.contiguous().numpy()
    arrays = (crow.contiguous().numpy(), col.contiguous().numpy(), val.contiguous().numpy(), docs.contiguous().numpy())
    rows, columns, values, features = (torch.from_numpy(part) for part in _compact(*arrays, scale))
    return rows, columns, values, features


@kernel
def _compact(crow: Any, col: Any, val: Any, docs: Any, scale: Any) -> Any:
    used = np.zeros(scale.size, np.uint8)  # a small table: the walk is as fast as its random writes
    size = 0
    for n in docs:
        for entry in range(crow[n], crow[n + 1]):
            used[col[entry]] = 1
        size += crow[n + 1] - crow[n]
    number = np.zeros(scale.size, np.int32)
    features = np.empty(min(size, scale.size - 1) + 1, np.int64)
    features[0] = 0
    kept = 1
    for column in range(1, scale.size):
        if used[column] and scale[column] != 0:
            features[kept] = column
            number[column] = kept
            kept += 1
    rows = np.zeros(docs.size + 1, np.int64)
    columns, values = np.empty(size, np.int32), np.empty(size, val.dtype)
    at = 0
    for i in range(docs.size):
        for entry in range(crow[docs[i]], crow[docs[i] + 1]):
            column = number[col[entry]]
            columns[at] = column
            values[at] = val[entry]
            at += column != 0
        rows[i + 1] = at
    return rows, columns[:at], values[:at], features[:kept]
