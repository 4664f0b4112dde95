"""All groups step by step: sums of similarities between clusters, whose rows and columns add up when they merge."""

from __future__ import annotations

import torch
from torch import Tensor


def average_linkage(grams: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """See the package."""
    groups, rows = grams.shape[:2]
    device = grams.device
    between, count = grams.clone(), grams.new_ones(groups, rows)
    number, group = torch.arange(rows, device=device), torch.arange(groups, device=device)
    alive = number < sizes[:, None]
    later = number[:, None] < number
    pairs = torch.full((groups, rows - 1, 2), -1, dtype=torch.int64, device=device)
    likeness = grams.new_full((groups, rows - 1), -torch.inf)
    for step in range(rows - 1):
        mean = between / (count[:, :, None] * count[:, None])
        open_ = later & alive[:, :, None] & alive[:, None]
        best, cell = torch.where(open_, mean, -torch.inf).flatten(1).max(dim=1)
        a, b = cell // rows, cell % rows
        merging = best > -torch.inf
        pairs[:, step] = torch.where(merging[:, None], torch.stack([a, b], 1), -1)
        likeness[:, step] = best
        added = torch.where(merging, 1.0, 0.0)
        between[group, a] += added[:, None] * between[group, b]
        between[group, :, a] += added[:, None] * between[group, :, b]
        count[group, a] += added * count[group, b]
        alive[group, b] &= ~merging
    return pairs, likeness
