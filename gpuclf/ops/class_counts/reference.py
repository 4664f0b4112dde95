"""Class counts in plain torch: one scatter-add a view."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.class_counts.record import ClassCounts


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
    weights: Tensor | None = None,
) -> ClassCounts:
    """See the package. The sufficient statistics of naive Bayes (Eisenstein 2018, eqs. 2.21-2.22) for every view."""
    device, num_views = val.device, train.shape[0]
    doc = torch.repeat_interleave(torch.arange(labels.numel(), device=device), crow.diff())
    labelled = labels[doc] >= 0
    pair = col.to(torch.int64) * num_classes + labels[doc]
    cells, cell = torch.unique(pair[labelled], return_inverse=True)
    documents = torch.zeros((num_views, num_classes), dtype=torch.float64, device=device)
    counts = torch.zeros((num_views, cells.numel()), dtype=torch.float64, device=device)
    for view in range(num_views):
        rows = train[view] & (labels >= 0)
        own = None if weights is None else weights[rows]
        documents[view] = torch.bincount(labels[rows], own, minlength=num_classes).to(torch.float64)
        used = rows[doc]
        value = val[used].to(torch.float64)
        factor = torch.ones_like(value) if row_scale is None else row_scale[view, doc[used]].to(torch.float64)
        if binary:
            value, factor = (value != 0).to(torch.float64), (factor != 0).to(torch.float64)
        if weights is not None:
            factor = factor * weights[doc[used]]
        value = value * factor
        counts[view].index_add_(0, cell[used[labelled]], value)
    return from_cells(documents, cells, counts, col_scale, num_features, binary)


def from_cells(
    documents: Tensor, cells: Tensor, counts: Tensor, col_scale: Tensor | None, num_features: int, binary: bool
) -> ClassCounts:
    """The record, from cells (P,) = feature · K + class, rising, and counts (F, P) that col_scale is still to scale.

    The scale is a common factor of a cell, so it is applied to the sum; presence only asks whether it is 0.
    """
    num_classes = documents.shape[1]
    feature, label = cells // num_classes, cells % num_classes
    if col_scale is not None:
        factor = (col_scale != 0) if binary else col_scale
        counts = counts * factor[:, feature].to(torch.float64)
    sizes = torch.bincount(feature, minlength=num_features + 1)
    start = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return ClassCounts(documents, start, label, counts, *cell_sums(start, label, counts, num_classes))


def cell_sums(start: Tensor, label: Tensor, counts: Tensor, num_classes: int) -> tuple[Tensor, Tensor]:
    """See the package."""
    num_views = counts.shape[0]
    totals = torch.zeros((num_views, num_classes), dtype=torch.float64, device=counts.device)
    totals.index_add_(1, label, counts)
    found = torch.zeros((num_views, start.numel() - 1), dtype=torch.int64, device=counts.device)
    feature = torch.repeat_interleave(torch.arange(start.numel() - 1, device=start.device), start.diff())
    found.index_add_(1, feature, (counts > 0).to(torch.int64))
    return totals, (found > 0).sum(dim=1)
