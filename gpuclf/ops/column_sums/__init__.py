"""Sums of each column over groups of rows."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def column_sums(crow: Tensor, col: Tensor, val: Tensor | None, group: Tensor, num_groups: int, width: int) -> Tensor:
    """(num_groups, width) float64: the sum of each column over the rows of each group, row after row.

    crow (docs+1,) int64, col (nnz,) int32 below width, val (nnz,) float32 or None for ones (then sums are document
    frequencies); group (docs,) int64, -1 for rows that are left out.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(col.device.type, 'reference')}")
    return module.column_sums(crow, col, val, group, num_groups, width)
