"""Class counts on a CPU: rows turned into columns once, then each feature is summed for all views together.

A task owns a block of features for all views, so no two tasks share a cell, and each cell is summed in document order.
With the views innermost, one entry serves all of them by one short vector operation; this made "total minus held-out
part" pointless: it would save additions that are already hidden behind the writing of the table.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_BLOCK = 2048  # features a task: some hundred tasks at usual vocabularies, each long enough to hide its start


def class_counts(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    labels: Tensor,
    train: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    num_classes: int,
    num_features: int,
    binary: bool = False,
) -> Tensor:
    """See the package."""
    num_views = train.shape[0]
    weight = (train & (labels >= 0)).to(torch.float64)  # (F, N): what a row's values count in each view
    table = np.empty((num_features + 1, num_views, num_classes))  # NumPy asks for huge pages
    table[0] = _documents(labels, weight, num_classes).numpy()
    if row_scale is not None:
        weight = weight * (row_scale != 0 if binary else row_scale)
    by_doc = weight.t().contiguous().numpy()
    value = (val != 0).to(torch.float32) if binary else val
    arguments = (crow.contiguous().numpy(), col.contiguous().numpy(), value.contiguous().numpy(), num_features)
    start, doc, by_col = _columns(*arguments)
    shared = (start, doc, by_col, labels.contiguous().numpy(), by_doc, _factors(col_scale, binary, table.shape[:2]))
    blocks = ((first, min(first + _BLOCK, num_features + 1)) for first in range(1, num_features + 1, _BLOCK))
    run_on_threads([partial(_sum_block, *shared, first, end, table) for first, end in blocks])
    return torch.from_numpy(table).permute(1, 0, 2)


def _factors(col_scale: Tensor | None, binary: bool, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """What the sums of a feature are multiplied with in each view, (V+1, F)."""
    if col_scale is None:
        return np.ones(shape, dtype=np.float32)
    factor = (col_scale != 0).to(torch.float32) if binary else col_scale
    return factor.t().contiguous().numpy()


def _documents(labels: Tensor, weight: Tensor, num_classes: int) -> Tensor:
    """Training rows per view and class (F, K), from weights that are 0 or 1: exact."""
    one_hot = torch.zeros((labels.numel(), num_classes), dtype=torch.float64)
    one_hot.scatter_(1, labels.clamp(min=0)[:, None], 1.0)
    return weight @ one_hot


@kernel
def _columns(crow, col, val, num_features):
    """CSR to CSC by counting: start (V+2,), documents and values of each column in document order."""
    start = np.zeros(num_features + 2, dtype=np.int64)
    for entry in range(col.shape[0]):
        start[col[entry] + 1] += 1
    for feature in range(num_features + 1):
        start[feature + 1] += start[feature]
    place = start.copy()
    doc = np.empty(col.shape[0], dtype=np.int32)
    by_col = np.empty(col.shape[0], dtype=np.float32)
    for row in range(crow.shape[0] - 1):
        for entry in range(crow[row], crow[row + 1]):
            at = place[col[entry]]
            doc[at] = row
            by_col[at] = val[entry]
            place[col[entry]] = at + 1
    return start, doc, by_col


@kernel
def _sum_block(start, doc, val, labels, weight, factor, first, end, table):
    """Fills table[first:end] (features, views, classes) from the columns, the row weights (docs, views) and factors."""
    num_views, num_classes = table.shape[1], table.shape[2]
    sums = np.zeros((num_classes, num_views))
    for feature in range(first, end):
        for entry in range(start[feature], start[feature + 1]):
            row = doc[entry]
            label = labels[row]
            if label < 0:
                continue
            value = np.float64(val[entry])
            for view in range(num_views):
                sums[label, view] += value * weight[row, view]
        for view in range(num_views):
            scale = np.float64(factor[feature, view])
            for k in range(num_classes):
                table[feature, view, k] = sums[k, view] * scale
                sums[k, view] = 0.0
