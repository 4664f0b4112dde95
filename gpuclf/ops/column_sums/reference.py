"""Scatter-add of the entries."""

from __future__ import annotations

import torch
from torch import Tensor


def column_sums(crow: Tensor, col: Tensor, val: Tensor | None, group: Tensor, num_groups: int, width: int) -> Tensor:
    entry_group = torch.repeat_interleave(group, crow.diff())
    used = entry_group >= 0
    cell = entry_group[used] * width + col[used]
    terms = torch.ones_like(cell, dtype=torch.float64) if val is None else val[used].to(torch.float64)
    sums = torch.zeros(num_groups * width, dtype=torch.float64, device=col.device)
    return sums.index_add_(0, cell, terms).view(num_groups, width)
