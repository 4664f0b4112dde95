"""Merged columns on the CPU: one walk over the entries to count them, one to write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.merged_columns import MergedRows


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
    """See `gpuclf.ops.merged_columns`."""
    docs = used.numel()
    scales = (
        np.ones(num_features + 1, np.float32) if col_scale is None else col_scale.contiguous().numpy(),
        np.ones(docs, np.float32) if row_scale is None else row_scale.contiguous().numpy(),
    )
    share = torch.zeros(num_features + 1, dtype=dtype)
    place = torch.zeros(num_features + 1, dtype=torch.int64)
    starts = torch.zeros(docs + 1, dtype=torch.int64)
    rows = (crow.contiguous().numpy(), col.contiguous().numpy(), val.contiguous().numpy(), *scales)
    counts = np.zeros(num_features + 1, np.int64)
    size = _counted(*rows, used.numpy(), share.numpy(), counts)
    least = 1 if merge else 0
    number = _numbered(counts, least, place.numpy(), share.numpy())
    columns = np.empty(size, np.int32)
    values = np.empty(size, share.numpy().dtype)
    end = _written(
        *rows, used.numpy(), counts, least, number, place.numpy(), share.numpy(), starts.numpy(), columns, values
    )
    return MergedRows(starts, torch.from_numpy(columns[:end]), torch.from_numpy(values[:end]), place, share)


@kernel
def _counted(crow: Any, col: Any, val: Any, col_scale: Any, row_scale: Any, used: Any, share: Any, counts: Any) -> Any:
    """Counts the rows of each feature; returns the number of entries. share: tells the type of numbers."""
    number = share.dtype.type
    size = 0
    for n in range(used.size):
        if used[n]:
            factor = number(row_scale[n])
            for i in range(crow[n], crow[n + 1]):
                v = np.int64(col[i])
                if number(val[i]) * number(col_scale[v]) * factor != 0:
                    counts[v] += 1
                    size += 1
    return size


@kernel
def _numbered(counts: Any, least: Any, place: Any, share: Any) -> Any:
    """Numbers the features that more than `least` rows have, the most frequent ones first; returns how many."""
    most = 0
    for v in range(counts.size):
        most = max(most, counts[v])
    begin = np.zeros(most + 2, np.int64)  # of the features with a count, those with higher ones before them
    for v in range(counts.size):
        begin[counts[v]] += 1
    number = 0
    for count in range(most, least, -1):
        same = begin[count]
        begin[count] = number
        number += same
    for v in range(counts.size):
        if counts[v] > least:
            begin[counts[v]] += 1
            place[v] = begin[counts[v]]
            share[v] = 1
    share[0] = 1
    return number


@kernel
def _written(
    crow: Any, col: Any, val: Any, col_scale: Any, row_scale: Any, used: Any, counts: Any, least: Any, last: Any,
    place: Any, share: Any, starts: Any, columns: Any, values: Any,
) -> Any:  # fmt: skip
    """Fills starts, columns and values, and place and share of features that a single row has; returns the end."""
    number = share.dtype.type
    end = 0
    for n in range(used.size):
        square, alone = 0.0, False
        if used[n]:
            factor = number(row_scale[n])
            for i in range(crow[n], crow[n + 1]):
                v = np.int64(col[i])
                x = number(val[i]) * number(col_scale[v]) * factor
                if x == 0:
                    continue
                if counts[v] > least:
                    columns[end] = place[v]
                    values[end] = x
                    end += 1
                else:
                    alone = True
                    square += np.float64(x) * np.float64(x)
                    place[v] = last + 1
                    share[v] = x
        if alone:
            last += 1
            length = number(np.sqrt(square))
            for i in range(crow[n], crow[n + 1]):
                if place[col[i]] == last:
                    share[col[i]] /= length
            columns[end] = last
            values[end] = length
            end += 1
        starts[n + 1] = end
    return end
