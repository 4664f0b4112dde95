"""Stable sorts by each byte position, the last first; a name that has ended sorts before every byte."""

from __future__ import annotations

import torch
from torch import Tensor


def sort_spans(names: Tensor, name_ptr: Tensor) -> Tensor:
    starts, lengths = name_ptr[:-1], name_ptr.diff()
    order = torch.arange(starts.numel(), device=names.device)
    for position in reversed(range(int(lengths.max()) if lengths.numel() else 0)):
        key = torch.full_like(starts, -1)
        inside = lengths > position
        key[inside] = names[starts[inside] + position].to(torch.int64)
        order = order[torch.argsort(key[order], stable=True)]
    return order
