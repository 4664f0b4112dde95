"""Spans as rows of a matrix, made unique."""

from __future__ import annotations

import torch
from torch import Tensor


def intern_spans(text: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    if not starts.numel():
        return torch.empty_like(starts), torch.empty_like(starts)
    width = int((ends - starts).max())
    position = starts[:, None] + torch.arange(width, device=text.device)
    byte = torch.cat([text.to(torch.int64), text.new_zeros(1, dtype=torch.int64)])[position.clamp(max=text.numel())]
    padded = torch.where(position < ends[:, None], byte, -1)
    padded = torch.cat([padded, padded.new_zeros(len(padded), 1)], dim=1)  # unique() wants a column at least
    _, inverse = torch.unique(padded, dim=0, return_inverse=True)
    count = int(inverse.max()) + 1
    index = torch.arange(starts.numel(), device=text.device)
    first = torch.full((count,), starts.numel(), device=text.device).scatter_reduce(0, inverse, index, "amin")
    by_appearance = torch.argsort(first)
    rank = torch.empty_like(by_appearance)
    rank[by_appearance] = torch.arange(count, device=text.device)
    return rank[inverse], first[by_appearance]
