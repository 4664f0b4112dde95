"""Rows of one table added to rows of another, in place."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["add_rows"]


def add_rows(table: Tensor, rows: Tensor, parts: Tensor, source: Tensor) -> None:
    """table[rows[i]] += parts[source[i]]: table (n, K), parts (G, K), both contiguous and of one type; rows, source
    (m,) int64, the rows all different."""
    import_module(f"{__name__}.{_KERNELS.get(table.device.type, 'reference')}").add_rows(table, rows, parts, source)
