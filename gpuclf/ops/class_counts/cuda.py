"""Class counts on a GPU: entries sorted once by (feature, class), then one segment sum a view. No atomic additions."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.class_counts.reference import apply_col_scale


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
    """See the package. The sort is stable, so that a cell's entries stay in document order."""
    device, num_views, width = val.device, train.shape[0], num_features + 1
    weight = (train & (labels >= 0)).to(torch.float64)
    counts = torch.zeros((width, num_views, num_classes), dtype=torch.float64, device=device)
    classes = torch.arange(num_classes, device=device)
    counts[0] = weight @ (labels[:, None] == classes).to(torch.float64)
    if row_scale is not None:
        weight = weight * (row_scale != 0 if binary else row_scale)
    doc = torch.repeat_interleave(torch.arange(labels.numel(), device=device), crow.diff())
    cell = col.to(torch.int64) * num_classes + labels[doc].clamp(min=0)
    cell, order = torch.sort(cell, stable=True)
    cells, lengths = torch.unique_consecutive(cell, return_counts=True)
    if cells.numel() == 0:
        return apply_col_scale(counts, col_scale, binary)
    doc = doc[order]
    value = ((val != 0) if binary else val)[order].to(torch.float64)
    feature, label = cells // num_classes, cells % num_classes
    for view in range(num_views):
        sums = torch.segment_reduce(value * weight[view, doc], "sum", lengths=lengths, unsafe=True)
        counts[feature, view, label] = sums
    return apply_col_scale(counts, col_scale, binary)
