"""Smoothed logs in plain torch (Eisenstein 2018, eq. 2.22: φ = (α + count) / (Vα + Σ count))."""

from __future__ import annotations

import torch
from torch import Tensor

_CHUNK_CELLS = 1 << 20  # float64 cells of a chunk of features in work at once


def smoothed_logs(counts: Tensor, exists: Tensor, view: Tensor, alpha: Tensor, log_norm: Tensor) -> Tensor:
    """See the package."""
    num_features, (num_replicas, num_classes) = counts.shape[1], log_norm.shape
    table = torch.empty((num_features, num_replicas, num_classes), dtype=torch.float32, device=counts.device)
    step = max(1, _CHUNK_CELLS // max(1, num_replicas * num_classes))
    by_feature, present = counts.permute(1, 0, 2), exists.t()
    for first in range(0, num_features, step):
        chunk = slice(first, first + step)
        logs = by_feature[chunk].index_select(1, view).add_(alpha[:, None]).log_().sub_(log_norm)
        table[chunk] = logs.masked_fill_(~present[chunk].index_select(1, view)[:, :, None], 0.0)
    return table


def feature_sums(table: Tensor) -> Tensor:
    """See the package."""
    return table.sum(0, dtype=torch.float64)


def occurring(table: Tensor) -> Tensor:
    """See the package."""
    return (table != 0).any(dim=-1)
