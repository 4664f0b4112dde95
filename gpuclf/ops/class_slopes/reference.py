"""Slopes as they are written down, as tensors: runs on every device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.class_slopes.record import ClassSlopes
from gpuclf.ops.counter_hash import hash64


def class_slopes(
    scores: Tensor,
    labels: Tensor,
    rows: Tensor,
    begin: Tensor,
    weights: Tensor | None,
    sampling: float,
    draw: Tensor,
    unit: float,
) -> ClassSlopes:
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
    scaled = ((part * unit).round() for part in (slope, bend))
    whole = [(part if weights is None else (part * weights[:, None]).round()).to(torch.int64) for part in scaled]
    drawn = ((whole[0] != 0) | (whole[1] != 0)).to(torch.int32)
    groups = begin.numel() - 1
    group = torch.arange(groups, device=rows.device).repeat_interleave(begin.diff())
    held, gradient, curvature = (
        torch.zeros(groups, p.shape[1], dtype=part.dtype, device=rows.device).index_add_(0, group, part).t()
        for part in (drawn, *whole)
    )
    kept = torch.nonzero(held)  # by class, then by group
    begin_class = torch.searchsorted(kept[:, 0].contiguous(), torch.arange(p.shape[1] + 1, device=rows.device))
    parts = (part[kept[:, 0], kept[:, 1]] for part in (held, gradient, curvature))
    return ClassSlopes(begin_class, kept[:, 1].to(torch.int32), *parts)
