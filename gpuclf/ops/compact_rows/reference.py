"""Compact rows in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor


def compact_rows(
    crow: Tensor, col: Tensor, val: Tensor, docs: Tensor, col_scale: Tensor | None, num_features: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """See the package."""
    device = val.device
    lengths = crow[docs + 1] - crow[docs]
    row = torch.repeat_interleave(torch.arange(docs.numel(), device=device), lengths)
    first = torch.cumsum(lengths, 0) - lengths
    position = torch.arange(row.numel(), device=device) + (crow[docs] - first)[row]
    columns = col[position].to(torch.int64)
    if col_scale is not None:
        kept = col_scale[columns] != 0
        row, position, columns = row[kept], position[kept], columns[kept]
    used = torch.zeros(num_features + 1, dtype=torch.bool, device=device)
    used[0] = True
    used[columns] = True
    number = (used.cumsum(0) - 1).to(torch.int32)
    ends = torch.bincount(row, minlength=docs.numel()).cumsum(0)
    return torch.cat([ends.new_zeros(1), ends]), number[columns], val[position], torch.nonzero(used).flatten()
