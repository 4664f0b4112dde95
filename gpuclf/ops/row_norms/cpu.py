"""Numba kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _norms(crow: Any, col: Any, val: Any, col_scale: Any, order: Any, out: Any) -> Any:
    for d in range(crow.size - 1):
        total = 0.0
        for i in range(crow[d], crow[d + 1]):
            x = np.float64(val[i]) * np.float64(col_scale[col[i]])
            total += abs(x) if order == 1 else x * x
        out[d] = total if order == 1 else math.sqrt(total)


def row_norms(crow: Tensor, col: Tensor, val: Tensor, col_scale: Tensor, order: int) -> Tensor:
    out = torch.empty(crow.numel() - 1, dtype=torch.float64)
    _norms(crow.numpy(), col.numpy(), val.numpy(), col_scale.numpy(), order, out.numpy())
    return out
