"""Numba kernel: rows in order, so each sum has one order of terms."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _sum(crow: Any, col: Any, val: Any, group: Any, sums: Any) -> Any:
    for d in range(crow.size - 1):
        g = group[d]
        if g >= 0:
            for i in range(crow[d], crow[d + 1]):
                sums[g, col[i]] += val[i]


@kernel
def _tally(crow: Any, col: Any, group: Any, sums: Any) -> Any:
    for d in range(crow.size - 1):
        g = group[d]
        if g >= 0:
            for i in range(crow[d], crow[d + 1]):
                sums[g, col[i]] += 1.0


def column_sums(crow: Tensor, col: Tensor, val: Tensor | None, group: Tensor, num_groups: int, width: int) -> Tensor:
    sums = torch.zeros(num_groups, width, dtype=torch.float64)
    if val is None:
        _tally(crow.numpy(), col.numpy(), group.numpy(), sums.numpy())
    else:
        _sum(crow.numpy(), col.numpy(), val.numpy(), group.numpy(), sums.numpy())
    return sums
