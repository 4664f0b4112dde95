"""Each group's rows as a dense matrix over the columns that the group uses, and its product with itself."""

from __future__ import annotations

import torch
from torch import Tensor

_STEPS = 2.0**20


def group_grams(crow: Tensor, col: Tensor, val: Tensor, first: Tensor, sizes: Tensor, width: int) -> Tensor:
    """See the package."""
    groups, device = sizes.numel(), val.device
    place = torch.arange(width, device=device)
    present = place < sizes[:, None]
    rows = (first[:, None] + place)[present]
    group = torch.repeat_interleave(torch.arange(groups, device=device), sizes)
    within = place.expand(groups, width)[present]
    lengths = crow[rows + 1] - crow[rows]
    entry_row = torch.repeat_interleave(torch.arange(rows.numel(), device=device), lengths)
    start = torch.cumsum(lengths, 0) - lengths
    entry = torch.arange(entry_row.numel(), device=device) + (crow[rows] - start)[entry_row]
    entry_group = group[entry_row]
    columns = int(col.max()) + 1 if col.numel() else 1
    used, number = torch.unique(entry_group * columns + col[entry], return_inverse=True)
    of_group = torch.bincount(used // columns, minlength=groups)
    number = number - (torch.cumsum(of_group, 0) - of_group)[entry_group]
    dense = torch.zeros(groups, width, int(of_group.max()) if groups else 0, dtype=torch.float64, device=device)
    dense[entry_group, within[entry_row], number] = val[entry]
    grams = torch.round(torch.bmm(dense, dense.transpose(1, 2)) * _STEPS) / _STEPS
    itself = torch.eye(width, dtype=torch.bool, device=device) & present[:, :, None]
    return grams.masked_fill(itself, 1.0)
