"""Sparse rows turned into columns: for each feature, the documents that have it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Columns:
    """CSC form: start (V+2,) int64, doc (nnz,) int64 or int32, val (nnz,). Column v is start[v]:start[v+1], in the
    order of the documents; column 0, the offset's, is empty."""

    start: Tensor
    doc: Tensor
    val: Tensor


def columns_of(crow: Tensor, col: Tensor, val: Tensor, num_features: int) -> Columns:
    """The columns of rows in CSR form, on the rows' device."""
    counts = torch.bincount(col, minlength=num_features + 1)
    start = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    order = torch.argsort(col, stable=True)
    doc = torch.repeat_interleave(torch.arange(crow.numel() - 1, device=col.device), crow.diff())
    narrow = torch.int32 if crow.numel() < 2**31 else torch.int64
    return Columns(start, doc[order].to(narrow), val[order])
