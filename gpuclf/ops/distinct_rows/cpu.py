"""Grouping on the CPU: one pass over the rows with a hash table."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.distinct_rows.record import DistinctRows
from gpuclf.ops.kernel import kernel

_MIX = 0xBF58476D1CE4E5B9 - (1 << 64)


def distinct_rows(codes: Tensor, rows: Tensor) -> DistinctRows:
    """See gpuclf.ops.distinct_rows.distinct_rows."""
    table, order, begin, group = grouped(np.ascontiguousarray(codes.numpy()), rows.numpy())
    return DistinctRows(*(torch.from_numpy(part) for part in (table, order, begin, group)))


@kernel
def grouped(codes: Any, rows: Any) -> Any:
    """codes, order, begin and group of DistinctRows."""
    inputs, size = codes.shape[1], 16
    while size < 2 * rows.size:
        size *= 2
    slot = np.full(size, -1, np.int32)
    group, first, count = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64), 0
    for place in range(rows.size):
        row, key = rows[place], np.int64(0)
        for i in range(inputs):
            key = (key ^ codes[row, i]) * _MIX
            key = key ^ (key >> 29)
        at = (key >> 20) & (size - 1)
        while slot[at] >= 0 and not same(codes, row, first[slot[at]]):
            at = (at + 1) & (size - 1)
        if slot[at] < 0:
            slot[at], first[count] = count, row
            count += 1
        group[place] = slot[at]
    table, begin = np.empty((count, inputs), np.int32), np.zeros(count + 1, np.int64)
    for g in range(count):
        for i in range(inputs):
            table[g, i] = codes[first[g], i]
    for g in group:
        begin[g + 1] += 1
    for g in range(count):
        begin[g + 1] += begin[g]
    order, filled = np.empty(rows.size, np.int64), begin[:count].copy()
    for place in range(rows.size):
        g = group[place]
        order[filled[g]] = place
        filled[g] += 1
    return table, order, begin, group


@kernel
def same(codes: Any, one: Any, other: Any) -> Any:
    """Whether two rows have the same codes."""
    i = 0
    while i < codes.shape[1] and codes[one, i] == codes[other, i]:
        i += 1
    return i == codes.shape[1]
