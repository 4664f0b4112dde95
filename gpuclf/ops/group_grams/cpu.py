"""Numba kernel: a row's entries are laid out over the columns, and the rows before it in its group run over them."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_STEPS = 2.0**20


def group_grams(crow: Tensor, col: Tensor, val: Tensor, first: Tensor, sizes: Tensor, width: int) -> Tensor:
    """See the package."""
    grams = torch.zeros(sizes.numel(), width, width, dtype=torch.float64)
    columns = int(col.max()) + 1 if col.numel() else 1
    arrays = [part.contiguous().numpy() for part in (crow, col, val, first, sizes)]
    pieces = min(torch.get_num_threads(), sizes.numel())
    ends = torch.linspace(0, sizes.numel(), pieces + 1).to(torch.int64).tolist()
    run_on_threads([partial(_products, *arrays, columns, start, end, grams.numpy()) for start, end in pairwise(ends)])
    return grams


@kernel
def _products(
    crow: Any, col: Any, val: Any, first: Any, sizes: Any, columns: Any, start: Any, end: Any, grams: Any
) -> Any:
    laid = np.zeros(columns)
    for b in range(start, end):
        for i in range(sizes[b]):
            row = first[b] + i
            for entry in range(crow[row], crow[row + 1]):
                laid[col[entry]] = val[entry]
            for j in range(i):
                other = first[b] + j
                total = 0.0
                for entry in range(crow[other], crow[other + 1]):
                    total += laid[col[entry]] * val[entry]
                rounded = np.rint(total * _STEPS) / _STEPS
                grams[b, i, j] = rounded
                grams[b, j, i] = rounded
            grams[b, i, i] = 1.0
            for entry in range(crow[row], crow[row + 1]):
                laid[col[entry]] = 0.0
