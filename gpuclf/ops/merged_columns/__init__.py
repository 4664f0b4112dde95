"""Some rows of a sparse matrix with as few columns as tell the same about lengths and scores."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import torch
from torch import Tensor

__all__ = ["MergedRows", "merged_columns"]

KERNELS = {"cpu": "cpu"}  # device type -> module here; a device that is not listed runs the reference


@dataclass(frozen=True)
class MergedRows:
    """Rows in CSR form, columns 1 … width, with what they stand for.

    crow (docs+1,) int64, col (nnz,) int32, val (nnz,); place (V+1,) int64, share (V+1,): feature v is share[v] times
    column place[v]. place is 0 and share 0 where no row has a feature; place[0] = 0 and share[0] = 1, the offset.
    """

    crow: Tensor
    col: Tensor
    val: Tensor
    place: Tensor
    share: Tensor


def merged_columns(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    used: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    num_features: int,
    dtype: torch.dtype,
    *,
    merge: bool,
) -> MergedRows:
    """The matrix x = val · col_scale · row_scale in `dtype`, its rows that are not `used` (docs,) bool left empty.

    crow (docs+1,) int64, col (nnz,) in 1 … V = num_features, val (nnz,): CSR form; col_scale (V+1,), row_scale (docs,)
    or None for ones. Entries that are 0 are left out. Features are numbered by falling number of rows that have them,
    ties by their own number. With `merge`, all features that occur in one row alone become one column at the end of
    that row, after the other columns and in the order of the rows; its value is the length of theirs, rounded once.
    Products of rows stay, and so do scores and lengths of weights that are combinations of rows. The same bits on
    every device, and for a view whatever other views there are.
    """
    kernel = import_module(f"{__name__}.{KERNELS.get(val.device.type, 'reference')}")
    made: MergedRows = kernel.merged_columns(
        crow, col, val, used, col_scale, row_scale, num_features, dtype, merge=merge
    )
    return made
