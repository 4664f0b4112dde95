"""Two stable sorts (by column, then by row), then sums over runs of equal (row, column)."""

from __future__ import annotations

import torch
from torch import Tensor


def map_columns(crow: Tensor, col: Tensor, val: Tensor, mapping: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    docs = crow.numel() - 1
    row = torch.repeat_interleave(torch.arange(docs, device=col.device), crow.diff())
    new, val = mapping[col], val.to(torch.float64)
    lost = new < 0
    dropped = torch.zeros(docs, dtype=torch.float64, device=col.device).index_add_(0, row[lost], val[lost])
    row, new, val = row[~lost], new[~lost], val[~lost]
    order = torch.argsort(new, stable=True)
    order = order[torch.argsort(row[order], stable=True)]
    pairs, run = torch.unique_consecutive(torch.stack([row, new])[:, order], dim=1, return_inverse=True)
    sums = torch.zeros(pairs.shape[1], dtype=torch.float64, device=col.device).index_add_(0, run, val[order])
    kept = sums.to(torch.float32) != 0
    owner = pairs[0, kept]
    new_crow = torch.cat([crow[:1] * 0, torch.bincount(owner, minlength=docs).cumsum(0)])
    return new_crow, pairs[1, kept].to(torch.int32), sums[kept].to(torch.float32), dropped
