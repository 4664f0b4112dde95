"""Windows over the character positions of each unit."""

from __future__ import annotations

import torch
from torch import Tensor


def char_spans(
    text: Tensor, unit_ptr: Tensor, shortest: int, longest: int, keep_short: bool
) -> tuple[Tensor, Tensor, Tensor]:
    heads = torch.nonzero((text & 0xC0) != 0x80).flatten()
    starts: list[Tensor] = []
    ends: list[Tensor] = []
    sizes = [0]
    for unit in range(unit_ptr.numel() - 1):
        lo, hi = unit_ptr[unit], unit_ptr[unit + 1]
        edges = torch.cat([heads[(heads >= lo) & (heads < hi)], hi[None]])
        chars = edges.numel() - 1
        count = 0
        for n in range(shortest, longest + 1):
            width = min(n, chars) if keep_short else n
            if 0 < width <= chars:
                starts.append(edges[: chars - width + 1])
                ends.append(edges[width:])
                count += chars - width + 1
            if keep_short and chars <= n:
                break
        sizes.append(count)
    empty = unit_ptr.new_empty(0)
    return torch.cat([empty, *starts]), torch.cat([empty, *ends]), torch.tensor(sizes, device=text.device).cumsum(0)
