"""Rows of codes that differ, and which rows of a table each of them stands for."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.distinct_rows.record import DistinctRows

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["DistinctRows", "distinct_rows"]


def distinct_rows(codes: Tensor, rows: Tensor) -> DistinctRows:
    """Groups of the rows `rows` (n,) int64 of codes (docs, M) int32 that have the same codes.

    Groups are numbered as they are met in `rows`; in a group, rows stand as in `rows`.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(codes.device.type, 'reference')}")
    found: DistinctRows = kernel.distinct_rows(codes, rows)
    return found
