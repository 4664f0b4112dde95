"""Sparse rows turned into columns: for each feature, the documents that have it."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Columns:
    """CSC form: start (V+2,) int64, doc (nnz,) int64 or int32, val (nnz,). Column v is start[v]:start[v+1], in the
    order of the documents; column 0, the offset's, is empty."""

    start: Tensor
    doc: Tensor
    val: Tensor
