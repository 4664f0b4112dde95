"""Class counts on a GPU: entries sorted once by (feature, class), then one segment sum a view. No atomic additions."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.class_counts.record import ClassCounts
from gpuclf.ops.class_counts.reference import from_cells

__all__ = ["cell_sums", "class_counts"]


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
    """See the package. The sort is stable, so that a cell's entries stay in document order."""
    device, num_views = val.device, train.shape[0]
    weight = (train & (labels >= 0)).to(torch.float64)
    weight = weight if weights is None else weight * weights
    labelled = torch.nonzero(labels >= 0).flatten()
    documents = torch.zeros((num_views, num_classes), dtype=torch.float64, device=device)
    documents.index_add_(1, labels[labelled], weight[:, labelled])
    if row_scale is not None:
        weight = weight * (row_scale != 0 if binary else row_scale)
    doc = torch.repeat_interleave(torch.arange(labels.numel(), device=device), crow.diff())
    entry = torch.nonzero(labels[doc] >= 0).flatten()
    pair, order = torch.sort(col[entry].to(torch.int64) * num_classes + labels[doc[entry]], stable=True)
    entry = entry[order]
    cells, lengths = torch.unique_consecutive(pair, return_counts=True)
    counts = torch.zeros((num_views, cells.numel()), dtype=torch.float64, device=device)
    value, doc = ((val != 0) if binary else val)[entry].to(torch.float64), doc[entry]
    for view in range(num_views if cells.numel() else 0):
        counts[view] = torch.segment_reduce(value * weight[view, doc], "sum", lengths=lengths, unsafe=True)
    return from_cells(documents, cells, counts, col_scale, num_features, binary)


def cell_sums(start: Tensor, label: Tensor, counts: Tensor, num_classes: int) -> tuple[Tensor, Tensor]:
    """See the package. Sums by class after a stable sort: no atomic additions."""
    order = torch.argsort(label, stable=True)
    per_class = torch.bincount(label, minlength=num_classes)
    per_feature = start.diff()
    if not label.numel():
        empty = torch.zeros((counts.shape[0], num_classes), dtype=torch.float64, device=counts.device)
        return empty, torch.zeros(counts.shape[0], dtype=torch.int64, device=counts.device)
    totals = torch.stack([_segment(view[order], per_class) for view in counts.unbind()])
    found = torch.stack([_segment((view > 0).to(torch.float64), per_feature) for view in counts.unbind()])
    return totals, (found > 0).sum(dim=1)


def _segment(values: Tensor, lengths: Tensor) -> Tensor:
    return torch.segment_reduce(values, "sum", lengths=lengths, initial=0.0, unsafe=True)
