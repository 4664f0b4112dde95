"""Scatter-add of |x| or x² by row."""

from __future__ import annotations

import torch
from torch import Tensor


def row_norms(crow: Tensor, col: Tensor, val: Tensor, col_scale: Tensor, order: int) -> Tensor:
    row = torch.repeat_interleave(torch.arange(crow.numel() - 1, device=col.device), crow.diff())
    x = val.to(torch.float64) * col_scale.to(torch.float64)[col.to(torch.int64)]
    sums = torch.zeros(crow.numel() - 1, dtype=torch.float64, device=col.device)
    sums.index_add_(0, row, x.abs() if order == 1 else x * x)
    return sums if order == 1 else sums.sqrt()
