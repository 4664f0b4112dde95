"""Some rows of a sparse matrix by themselves, with only the columns that they use."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["compact_rows"]


def compact_rows(
    crow: Tensor, col: Tensor, val: Tensor, docs: Tensor, col_scale: Tensor | None, num_features: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The rows docs (n,) int64 without entries in columns of scale 0: crow (n+1,) int64, col (m,) int32 in 1..U,
    val (m,), and features (U+1,) int64, rising: the column that number u stands for; features[0] is the offset, 0.

    crow, col (int32 or int64, in 1..V), val: rows in CSR form; col_scale (V+1,) or None for ones; num_features is V.
    """
    module = import_module(f"{__name__}.{_KERNELS.get(val.device.type, 'reference')}")
    parts: tuple[Tensor, Tensor, Tensor, Tensor] = module.compact_rows(crow, col, val, docs, col_scale, num_features)
    return parts
