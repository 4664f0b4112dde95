"""The transposed product in plain torch, on any device: a segment sum by feature, a few features at a time."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from gpuclf.ops.sparse_gradient.columns import Columns

_CELLS = 1 << 25  # gathered gradients held at once, in numbers


def sparse_gradient(
    columns: Columns, col_scale: Tensor | None, row_scale: Tensor | None, gradient: Tensor, out: Tensor
) -> None:
    """See `gpuclf.ops.sparse_gradient`."""
    out[0] = gradient.sum(0)
    lengths = columns.start.diff()
    width = max(1, gradient.shape[1] * gradient.shape[2])
    edges = _portions(columns.start, max(1, _CELLS // width))
    for first, last in pairwise(edges):
        inside = slice(int(columns.start[first]), int(columns.start[last]))
        docs = columns.doc[inside].long()
        x = columns.val[inside].to(out.dtype)
        if row_scale is not None:
            x = x * row_scale.to(out.dtype)[docs]
        terms = x[:, None, None] * gradient[docs]
        sums = torch.segment_reduce(terms, "sum", lengths=lengths[first:last], axis=0, initial=0.0, unsafe=True)
        if col_scale is not None:
            sums = sums * col_scale.to(out.dtype)[first:last, None, None]
        out[first:last] = sums


def columns_of(crow: Tensor, col: Tensor, val: Tensor, num_features: int) -> Columns:
    """See `gpuclf.ops.sparse_gradient`."""
    counts = torch.bincount(col, minlength=num_features + 1)
    start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    order = torch.argsort(col, stable=True)
    doc = torch.repeat_interleave(torch.arange(crow.numel() - 1, device=col.device), crow.diff())
    narrow = torch.int32 if crow.numel() < 2**31 else torch.int64
    return Columns(start, doc[order].to(narrow), val[order])


def _portions(start: Tensor, entries: int) -> list[int]:
    """Feature numbers 1 … V+1 that cut the columns into portions of about `entries` entries."""
    last = start.numel() - 1
    edges = [1] if last > 1 else [last]
    bounds = start.cpu()
    while edges[-1] < last:
        target = bounds[edges[-1]] + entries
        stop = int(torch.searchsorted(bounds, target, right=True)) - 1
        edges.append(min(last, max(stop, edges[-1] + 1)))
    return edges
