"""Counts ids per document."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def row_counts(
    ptr: Tensor, ids: Tensor, num_columns: int, expand: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """How often each column occurs in each document, columns in order of first appearance.

    ptr (docs+1,) int64, ids (n,) int64: what stands in the documents. Each id is one column, or, with expand = (start
    (ids+1,), columns (m,)) int64, the columns columns[start[id]:start[id+1]], none of them or several.
    Returns crow (docs+1,) int64, col (nnz,) int64 in 0..num_columns-1, count (nnz,) int64.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(ids.device.type, 'reference')}")
    return module.row_counts(ptr, ids, num_columns, expand)
