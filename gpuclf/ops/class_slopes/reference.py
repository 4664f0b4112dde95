"""Slopes as they are written down, as tensors: runs on every device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64


def class_slopes(
    scores: Tensor, labels: Tensor, rows: Tensor, weights: Tensor | None, sampling: float, draw: Tensor, unit: float
) -> tuple[Tensor, Tensor]:
    """See gpuclf.ops.class_slopes.class_slopes."""
    p = scores[rows].softmax(dim=1)
    slope = p.clone()
    slope[torch.arange(rows.numel(), device=rows.device), labels[rows]] -= 1.0
    bend = p * (1.0 - p)
    if sampling > 0:
        share = (slope.abs() / sampling).clamp(max=1.0)
        upper = hash64(draw[:, None] + torch.arange(p.shape[1], device=rows.device)) >> 11
        taken = (upper & ((1 << 53) - 1)).to(torch.float64) * 2.0**-53 < share
        slope, bend = (torch.where(taken, part / share, 0.0) for part in (slope, bend))
    made = []
    for part in (slope, bend):
        whole = torch.zeros(scores.shape[::-1], dtype=torch.int32, device=scores.device)
        scaled = (part * unit).round()
        whole[:, rows] = (scaled if weights is None else (scaled * weights[:, None]).round()).to(torch.int32).t()
        made.append(whole)
    return made[0], made[1]
