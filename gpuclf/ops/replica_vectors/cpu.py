"""Inner products and combinations on the CPU: one reading of the vectors, a few rows of all of them at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import gcd
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.replica_vectors.lanes import combination, products
from gpuclf.ops.threads import run_on_threads

_ROWS = 256  # of one running sum; never other for other replicas or threads, or the bits would be
_NEAR = 1 << 12  # bytes of a vector that are gone through, with those of all pairs, before the next ones
_CELLS = 1 << 16  # of a vector, at least, in one piece of work
_LANES = 32  # cells of a combination that are made at once

_dot_16, _dot_8, _dot_4, _dot_1 = (products(count, False) for count in (16, 8, 4, 1))
_scaled_16, _scaled_8, _scaled_4, _scaled_1 = (products(count, True) for count in (16, 8, 4, 1))
_combine_many, _combine_one = combination(_LANES), combination(1)


def replica_dots(pairs: Sequence[tuple[Tensor, ...]]) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    _, replicas, classes = pairs[0][0].shape
    width = replicas * classes
    same = len({vector.dtype for pair in pairs for vector in pair}) == 1
    kept = [pair if same else tuple(vector.double() for vector in pair) for pair in pairs]
    like = np.zeros(0, _number(kept[0][0].dtype))
    addresses = np.zeros((len(kept), 3), np.int64)
    for p, pair in enumerate(kept):
        addresses[p, : len(pair)] = [_address(vector) for vector in pair]
    rows = np.array([len(pair[0]) for pair in kept])
    blocks = -(-int(rows.max()) // _ROWS)
    parts = np.zeros((blocks, len(kept), width))
    size = max(1, _CELLS // max(1, _ROWS * width))
    if width:
        run_on_threads(
            [
                partial(_dots, like, addresses, rows, width, start, parts[start : start + size])
                for start in range(0, blocks, size)
            ]
        )
    return torch.from_numpy(_summed(parts.reshape(blocks, len(kept), replicas, classes)))


def _address(vector: Tensor) -> int:
    assert vector.is_contiguous()
    return vector.data_ptr()


def _number(dtype: torch.dtype) -> Any:
    return np.dtype(str(dtype).removeprefix("torch."))


@kernel
def _dots(like: Any, addresses: Any, rows: Any, width: Any, block: Any, parts: Any) -> None:
    """Fills parts (blocks, pairs, width), zeros so far, the first of which has the number `block`.

    A few rows of all vectors at a time: they come from memory in one piece, and once for all pairs.
    """
    few = max(1, _NEAR // (4 * width))
    for b in range(parts.shape[0]):
        begin = (block + b) * _ROWS
        for first in range(begin, begin + _ROWS, few):
            for p in range(rows.size):
                last = min(rows[p], min(begin + _ROWS, first + few))
                if first < last:
                    u, v, w = addresses[p]
                    if w:
                        _with_scale(like, u, v, w, first, last, width, 0, width, parts[b, p])
                    else:
                        _without_scale(like, u, v, w, first, last, width, 0, width, parts[b, p])


@kernel
def _without_scale(
    like: Any, u: Any, v: Any, w: Any, first: Any, last: Any, width: Any, j: Any, end: Any, out: Any
) -> None:
    while j + 16 <= end:
        _dot_16(like, u, v, w, first, last, width, j, out)
        j += 16
    if j + 8 <= end:
        _dot_8(like, u, v, w, first, last, width, j, out)
        j += 8
    if j + 4 <= end:
        _dot_4(like, u, v, w, first, last, width, j, out)
        j += 4
    while j < end:
        _dot_1(like, u, v, w, first, last, width, j, out)
        j += 1


@kernel
def _with_scale(
    like: Any, u: Any, v: Any, w: Any, first: Any, last: Any, width: Any, j: Any, end: Any, out: Any
) -> None:
    while j + 16 <= end:
        _scaled_16(like, u, v, w, first, last, width, j, out)
        j += 16
    if j + 8 <= end:
        _scaled_8(like, u, v, w, first, last, width, j, out)
        j += 8
    if j + 4 <= end:
        _scaled_4(like, u, v, w, first, last, width, j, out)
        j += 4
    while j < end:
        _scaled_1(like, u, v, w, first, last, width, j, out)
        j += 1


@kernel
def _summed(parts: Any) -> Any:
    """(pairs, R): over the blocks in order for every cell, then over the classes."""
    blocks, pairs, replicas, classes = parts.shape
    out = np.zeros((pairs, replicas))
    for p in range(pairs):
        cells = np.zeros((replicas, classes))
        for b in range(blocks):
            for r in range(replicas):
                for k in range(classes):
                    cells[r, k] += parts[b, p, r, k]
        for r in range(replicas):
            for k in range(classes):
                out[p, r] += cells[r, k]
    return out


def replica_combination(
    factors: Tensor, vectors: Sequence[Tensor], scale: Tensor | None, scaled: int, out: Tensor | None
) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    total = torch.empty_like(vectors[0]) if out is None else out
    _, replicas, classes = total.shape
    if not total.numel():
        return total
    width = replicas * classes
    period = width * (_LANES // gcd(width, _LANES))
    pattern = factors.to(total.dtype).repeat_interleave(classes, 1).repeat(1, period // width)
    addresses = np.array([_address(vector) for vector in vectors])
    by_cell = 0 if scale is None else _address(scale)
    cells = total.view(-1).numpy()
    size = -(-_CELLS // period) * period
    shared = (addresses, by_cell, scaled if scale is not None else 0, pattern.numpy().reshape(-1), period)
    run_on_threads(
        [
            partial(_combine, *shared, start, min(start + size, cells.size), cells)
            for start in range(0, cells.size, size)
        ]
    )
    return total


@kernel
def _combine(
    addresses: Any, scale: Any, scaled: Any, factors: Any, period: Any, first: Any, last: Any, out: Any
) -> None:
    """Fills the cells first … last - 1; first is a multiple of the period."""
    at, spot = first, 0
    while at + _LANES <= last:
        _combine_many(addresses, addresses.size, scale, scaled, factors, period, spot, at, out)
        at += _LANES
        spot += _LANES
        if spot == period:
            spot = 0
    while at < last:
        _combine_one(addresses, addresses.size, scale, scaled, factors, period, spot, at, out)
        at += 1
        spot += 1
