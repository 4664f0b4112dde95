"""Grouping by sorting all rows: runs on every device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.distinct_rows.record import DistinctRows


def distinct_rows(codes: Tensor, rows: Tensor) -> DistinctRows:
    """See gpuclf.ops.distinct_rows.distinct_rows."""
    own, count = codes[rows], rows.numel()
    if not codes.shape[1]:  # rows of no codes are all the same
        sorted_codes, number = own[:1], torch.zeros(count, dtype=torch.int64, device=rows.device)
    else:
        sorted_codes, number = torch.unique(own, dim=0, return_inverse=True)
    met = torch.full((len(sorted_codes),), count, dtype=torch.int64, device=rows.device)
    met.scatter_reduce_(0, number, torch.arange(count, device=rows.device), "amin")
    by_place = torch.argsort(met)
    rank = torch.empty_like(by_place).scatter_(0, by_place, torch.arange(len(met), device=rows.device))
    group = rank[number]
    sizes = torch.bincount(group, minlength=len(met))
    begin = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    return DistinctRows(sorted_codes[by_place], torch.argsort(group, stable=True), begin, group)
