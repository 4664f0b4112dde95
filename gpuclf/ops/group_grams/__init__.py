"""Similarities within groups of sparse rows: what clustering needs of them, whatever the number of columns."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference
STEP = 2.0**-20  # of the similarities: sums of 2^32 of them and their halves are exact in float64, in any order


def group_grams(crow: Tensor, col: Tensor, val: Tensor, first: Tensor, sizes: Tensor, width: int) -> Tensor:
    """(B, width, width) float64: dot products of the rows of each group, rounded to multiples of `STEP`; 0 beyond a
    group's size. A row's product with itself is 1: rows have length 1, and one without entries is like itself alone.

    Rounded, every sum over rows is exact, so that clusterings are the same on all devices, for any padding and any
    order of the work (but for products within rounding of the middle between two multiples).

    crow (docs+1,) int64, col (nnz,) int64, val (nnz,) float64 in CSR form, no column twice in a row; group b is the
    rows first[b] to first[b] + sizes[b], sizes (B,) int64 of at most `width`.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(val.device.type, 'reference')}")
    return module.group_grams(crow, col, val, first, sizes, width)
