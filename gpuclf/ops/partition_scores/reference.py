"""Memberships as 0/1 matrices: sums of similarities to clusters are products."""

from __future__ import annotations

import torch
from torch import Tensor


def partition_scores(grams: Tensor, sizes: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """See the package."""
    present = labels >= 0
    own = labels.clamp(min=0)
    most = int(own.max()) + 1 if own.numel() else 1
    member = torch.nn.functional.one_hot(own, most).to(grams.dtype) * present[:, :, :, None]
    count = member.sum(dim=2)  # (B, J, k)
    sums = torch.matmul(grams[:, None], member)  # (B, J, n, k)
    alone = sums.gather(3, own[:, :, :, None])[:, :, :, 0]
    others = count.gather(2, own) - 1
    within = 1 - (alone - 1) / others.clamp(min=1)
    mean = torch.where(count > 0, 1.0, torch.inf)[:, :, None] - sums / count.clamp(min=1)[:, :, None]
    nearest = mean.scatter(3, own[:, :, :, None], torch.inf).amin(dim=3)
    larger = torch.maximum(within, nearest)
    told = present & (others > 0) & (larger > 0) & nearest.isfinite()
    width = torch.where(told, (nearest - within) / torch.where(told, larger, 1.0), 0.0)
    cohesion = (sums * member).sum(dim=2).sqrt().sum(dim=2)
    return width.sum(dim=2) / sizes[:, None].clamp(min=1), cohesion
