"""Smoothed logs in plain torch (Eisenstein 2018, eq. 2.22: φ = (α + count) / (Vα + Σ count))."""

from __future__ import annotations

import torch
from torch import Tensor

_CHUNK_CELLS = 1 << 20  # float64 cells of a chunk of features in work at once


def smoothed_logs(
    start: Tensor,
    label: Tensor,
    counts: Tensor,
    features: Tensor,
    view: Tensor,
    shift: Tensor,
    log_norm: Tensor,
    absent: bool = False,
) -> Tensor:
    """See the package."""
    num_features, (num_replicas, num_classes) = features.numel(), log_norm.shape
    table = torch.empty((num_features, num_replicas, num_classes), dtype=torch.float32, device=counts.device)
    step = max(1, _CHUNK_CELLS // max(1, max(num_replicas, counts.shape[0]) * num_classes))
    for first in range(0, num_features, step):
        chunk = slice(first, first + step)
        dense = _counts_of(start, label, counts, features[chunk], num_classes)
        exists = (dense > 0).any(dim=-1)
        of_replica = dense.index_select(1, view)
        logs = (shift - of_replica if absent else shift + of_replica).log_().sub_(log_norm)
        table[chunk] = logs.masked_fill_(~exists.index_select(1, view)[:, :, None], 0.0)
    return table


def _counts_of(start: Tensor, label: Tensor, counts: Tensor, features: Tensor, num_classes: int) -> Tensor:
    """Counts (U, F, K) of some features, zeros included."""
    sizes = start[features + 1] - start[features]
    place = torch.repeat_interleave(torch.arange(features.numel(), device=counts.device), sizes)
    begin = torch.cumsum(sizes, 0) - sizes
    cell = torch.arange(place.numel(), device=counts.device) + (start[features] - begin)[place]
    shape = (features.numel(), num_classes, counts.shape[0])
    dense = torch.zeros(shape, dtype=torch.float64, device=counts.device)
    dense[place, label[cell]] = counts[:, cell].t()
    return dense.permute(0, 2, 1)


def feature_sums(table: Tensor) -> Tensor:
    """See the package."""
    return table.sum(0, dtype=torch.float64)
