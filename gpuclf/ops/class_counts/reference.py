"""Class counts in plain torch: one scatter-add a view."""

from __future__ import annotations

import torch
from torch import Tensor


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
    """See the package. The sufficient statistics of naive Bayes (Eisenstein 2018, eqs. 2.21-2.22) for every view."""
    num_views, width = train.shape[0], num_features + 1
    counts = torch.zeros((width, num_views, num_classes), dtype=torch.float64, device=val.device)
    doc = torch.repeat_interleave(torch.arange(labels.numel(), device=val.device), crow.diff())
    for view in range(num_views):
        rows = train[view] & (labels >= 0)
        counts[0, view] = torch.bincount(labels[rows], minlength=num_classes).to(torch.float64)
        used = rows[doc]
        value = val[used].to(torch.float64)
        if row_scale is not None:
            value = value * row_scale[view, doc[used]]
        if binary:
            value = (value != 0).to(torch.float64)
        cell = col[used].to(torch.int64) * num_classes + labels[doc[used]]
        table = torch.zeros(width * num_classes, dtype=torch.float64, device=val.device)
        counts[1:, view] = table.index_add_(0, cell, value).view(width, num_classes)[1:]
    return apply_col_scale(counts, col_scale, binary)


def apply_col_scale(counts: Tensor, col_scale: Tensor | None, binary: bool) -> Tensor:
    """Feature-major counts (V+1, F, K), scaled in place by col_scale (F, V+1), as (F, V+1, K).

    The scale is a common factor of a cell, so it is applied to the sum; presence only asks whether it is 0.
    """
    if col_scale is not None:
        factor = (col_scale != 0) if binary else col_scale
        counts[1:] *= factor.t()[1:, :, None].to(torch.float64)
    return counts.permute(1, 0, 2)
