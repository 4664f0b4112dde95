"""Numba kernel: remembers for each column the last document that had it and where its entry stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _count(ptr: Any, ids: Any, num_columns: Any, crow: Any, col: Any, count: Any) -> Any:
    entry = np.full(num_columns, -1, dtype=np.int64)
    n = 0
    crow[0] = 0
    for d in range(ptr.size - 1):
        begin = n
        for i in range(ptr[d], ptr[d + 1]):
            c = ids[i]
            e = entry[c]
            if e >= begin:
                count[e] += 1
            else:
                entry[c] = n
                col[n] = c
                count[n] = 1
                n += 1
        crow[d + 1] = n
    return n


@kernel
def _expanded_size(ids: Any, start: Any) -> Any:
    total = 0
    for i in ids:
        total += start[i + 1] - start[i]
    return total


@kernel
def _count_expanded(ptr: Any, ids: Any, start: Any, columns: Any, num_columns: Any, crow: Any) -> Any:
    entry = np.full(num_columns, -1, dtype=np.int64)
    size = min(_expanded_size(ids, start), max(1024, 4 * ids.size))
    col = np.empty(size, dtype=np.int64)
    count = np.empty(size, dtype=np.int64)
    n = 0
    crow[0] = 0
    for d in range(ptr.size - 1):
        begin = n
        for i in range(ptr[d], ptr[d + 1]):
            for k in range(start[ids[i]], start[ids[i] + 1]):
                c = columns[k]
                e = entry[c]
                if e >= begin:
                    count[e] += 1
                else:
                    if n == col.size:
                        col = np.append(col, np.empty(n + 1024, dtype=np.int64))
                        count = np.append(count, np.empty(n + 1024, dtype=np.int64))
                    entry[c] = n
                    col[n] = c
                    count[n] = 1
                    n += 1
        crow[d + 1] = n
    return col[:n].copy(), count[:n].copy()


def row_counts(
    ptr: Tensor, ids: Tensor, num_columns: int, expand: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    crow = torch.empty_like(ptr)
    if expand is not None:
        start, columns = (part.numpy() for part in expand)
        col, count = _count_expanded(ptr.numpy(), ids.numpy(), start, columns, num_columns, crow.numpy())
        return crow, torch.from_numpy(col), torch.from_numpy(count)
    out = torch.empty_like(ids), torch.empty_like(ids)
    n = _count(ptr.numpy(), ids.numpy(), num_columns, crow.numpy(), *(part.numpy() for part in out))
    return crow, out[0][:n], out[1][:n]
