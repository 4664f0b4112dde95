"""Scores in plain torch, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

_CELLS = 1 << 25  # gathered weights held at once, in numbers


def sparse_scores(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    docs: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    weights: Tensor,
    double: bool = False,
) -> Tensor:
    """See `gpuclf.ops.sparse_scores`. Gathers the weights of a few documents at a time and sums them by document."""
    _, replicas, classes = weights.shape
    out = weights.new_empty((docs.numel(), replicas, classes))
    number = torch.float64 if double else weights.dtype
    lengths = crow[docs + 1] - crow[docs]
    if not docs.numel():
        return out.permute(1, 0, 2)
    per_chunk = max(1, _CELLS // max(1, int(lengths.max()) * replicas * classes))
    for start in range(0, docs.numel(), per_chunk):
        part, length = docs[start : start + per_chunk], lengths[start : start + per_chunk]
        row = torch.repeat_interleave(torch.arange(part.numel(), device=docs.device), length)
        first = torch.cumsum(length, 0) - length
        position = torch.arange(row.numel(), device=docs.device) + (crow[part] - first)[row]
        columns = col[position].long()
        x = val[position].to(number)
        if col_scale is not None:
            x = x * col_scale.to(number)[columns]
        if row_scale is not None:
            x = x * row_scale.to(number)[part[row]]
        kept = x != 0
        terms = x[kept, None, None] * weights[columns[kept]].to(number)
        lengths_kept = torch.bincount(row[kept], minlength=part.numel())
        total = torch.segment_reduce(terms, "sum", lengths=lengths_kept, axis=0, initial=0.0, unsafe=True)
        out[start : start + per_chunk] = weights[0].to(number) + total
    return out.permute(1, 0, 2)
