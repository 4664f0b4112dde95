"""Unique (document, column) pairs, put back into the order of first appearance."""

from __future__ import annotations

import torch
from torch import Tensor


def row_counts(
    ptr: Tensor, ids: Tensor, num_columns: int, expand: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    docs = ptr.numel() - 1
    row = torch.repeat_interleave(torch.arange(docs, device=ids.device), ptr.diff())
    if expand is not None:
        start, columns = expand
        sizes = start.diff()[ids]
        row = torch.repeat_interleave(row, sizes)
        within = torch.arange(row.numel(), device=ids.device) - torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
        ids = columns[torch.repeat_interleave(start[ids], sizes) + within]
    pair, inverse, count = torch.unique(row * max(1, num_columns) + ids, return_inverse=True, return_counts=True)
    place = torch.arange(row.numel(), device=ids.device)
    first = torch.full_like(pair, row.numel()).scatter_reduce(0, inverse, place, "amin")
    order = torch.argsort(first)
    pair, count = pair[order], count[order]
    owner = torch.div(pair, max(1, num_columns), rounding_mode="floor")
    crow = torch.cat([ptr[:1] * 0, torch.bincount(owner, minlength=docs).cumsum(0)])
    return crow, pair % max(1, num_columns), count
