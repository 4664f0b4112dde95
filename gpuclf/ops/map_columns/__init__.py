"""Renumbers the columns of sparse rows."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def map_columns(crow: Tensor, col: Tensor, val: Tensor, mapping: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Rows under new column numbers, rising within each row; columns that meet are summed, in their order, in float64.

    crow (docs+1,) int64; col (nnz,) int64 in 0..len(mapping)-1; val (nnz,) of any number type; mapping int64: the new
    column, or -1 to drop it. Sums that are 0 leave no entry.
    Returns crow (docs+1,) int64, col (nnz',) int32, val (nnz',) float32, and dropped (docs,) float64: the sum of
    what was dropped from each row.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(col.device.type, 'reference')}")
    return module.map_columns(crow, col, val, mapping)
