"""What grouping gives."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class DistinctRows:
    """codes (G, M) int32: those of each group. order (n,) int64: places in the list of rows, group by group; begin
    (G + 1,) int64: where each group stands in it. group (n,) int64: of each place in the list."""

    codes: Tensor
    order: Tensor
    begin: Tensor
    group: Tensor
