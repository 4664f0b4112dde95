"""Norms of scaled sparse rows."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def row_norms(crow: Tensor, col: Tensor, val: Tensor, col_scale: Tensor, order: int) -> Tensor:
    """(docs,) float64: the L1 (order 1) or L2 (order 2) norm of each row of val · col_scale, entry after entry.

    crow (docs+1,) int64, col (nnz,) int32, val (nnz,) float32, col_scale (V+1,) float32.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(col.device.type, 'reference')}")
    return module.row_norms(crow, col, val, col_scale, order)
