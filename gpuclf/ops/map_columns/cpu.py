"""Numba kernel: each row is gathered, sorted by column (place breaks ties, so sums have one order) and summed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _map(crow: Any, col: Any, val: Any, mapping: Any, out_crow: Any, out_col: Any, out_val: Any, dropped: Any) -> Any:
    longest = 0
    for d in range(crow.size - 1):
        longest = max(longest, crow[d + 1] - crow[d])
    keys = np.empty(longest, dtype=np.int64)
    places = np.int64(longest + 1)
    n = 0
    out_crow[0] = 0
    for d in range(crow.size - 1):
        size = 0
        lost = 0.0
        base = crow[d]
        for i in range(base, crow[d + 1]):
            new = mapping[col[i]]
            if new < 0:
                lost += val[i]
            else:
                keys[size] = new * places + (i - base)  # columns stay below 2^31, so this fits in 63 bits
                size += 1
        dropped[d] = lost
        row = keys[:size]
        row.sort()
        k = 0
        while k < size:
            new = row[k] // places
            total = 0.0
            while k < size and row[k] // places == new:
                total += val[base + row[k] % places]
                k += 1
            if np.float32(total) != np.float32(0):
                out_col[n] = new
                out_val[n] = total
                n += 1
        out_crow[d + 1] = n
    return n


def map_columns(crow: Tensor, col: Tensor, val: Tensor, mapping: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    out_crow = torch.empty_like(crow)
    out_col = torch.empty(col.numel(), dtype=torch.int32)
    out_val = torch.empty(col.numel(), dtype=torch.float32)
    dropped = torch.empty(crow.numel() - 1, dtype=torch.float64)
    arrays = (crow, col, val, mapping, out_crow, out_col, out_val, dropped)
    n = _map(*(array.numpy() for array in arrays))
    return out_crow, out_col[:n].clone(), out_val[:n].clone(), dropped
