"""`pooled_windows` in plain torch; torch.func.vmap can map it over replicas."""

from __future__ import annotations

from functools import reduce

import torch
from torch import Tensor
from torch.nn.functional import pad

_ROWS = 64


def windows(x: Tensor, weight: Tensor, bias: Tensor, dilation: int, alone: bool = False) -> Tensor:
    """(N - (w - 1) · dilation, F): the value of every filter at every window; see gpuclf.ops.pooled_windows.

    alone: products are taken in blocks of so many rows, since a library's order of summation hangs on the shape; the
    last block is filled up with zeros, whose windows follow.
    """
    width = weight.shape[0]
    number = x.shape[0] - (width - 1) * dilation
    if alone:
        filled = -(-number // _ROWS) * _ROWS
        x = pad(x, (0, 0, 0, filled - number))
        blocks = [x[k * dilation : k * dilation + filled].view(-1, _ROWS, x.shape[1]) for k in range(width)]
        each = [torch.bmm(block, weight[k].expand(len(block), -1, -1)) for k, block in enumerate(blocks)]
        return bias + reduce(torch.add, each).flatten(0, 1)
    values = bias + x[:number] @ weight[0]
    for k in range(1, width):
        values = values + x[k * dilation : k * dilation + number] @ weight[k]
    return values


def pooled_windows(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    dilation: int,
    start: Tensor,
    length: Tensor,
    longest: int,
    k: int,
    alone: bool = False,
) -> Tensor:
    """See gpuclf.ops.pooled_windows."""
    values = windows(x, weight, bias, dilation, alone)
    if longest == 0:
        return values.new_zeros(start.shape[0], k, weight.shape[2])
    step = torch.arange(max(longest, k), device=x.device)
    here = step < length[:, None]  # (B, L)
    index = (start[:, None] + step).clamp(max=values.shape[0] - 1)
    each = values[index].masked_fill(~here[..., None], -torch.inf)  # (B, L, F)
    # a stable sort puts the earlier of equal values first
    best = torch.sort(each, dim=1, descending=True, stable=True).indices[:, :k]
    best = torch.sort(best, dim=1).values
    found = (torch.arange(k, device=x.device) < length[:, None])[..., None]
    return torch.where(found, torch.gather(each, 1, best), 0.0)
