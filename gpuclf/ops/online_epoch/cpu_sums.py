"""What the walk leaves for the end of an epoch: averaging sums and shared replicas, in one pass over the features.

An update touches as many sums as weights, each in cache lines that nothing else needs: to add to the sums during the
walk would cost as much again as the walk. So the walk logs its updates, and here each feature's sums are read once and
get all of the epoch's updates while they stay in the first-level cache. The order of summation is that of the row
numbers: it depends neither on the other replicas nor on the threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuclf.ops.kernel import kernel


class Log(NamedTuple):
    """The updates of one epoch of a block of R replicas, by row number; empty arrays where nothing is to be logged.

    fill (docs,) int32: replicas that the row updated, in ascending order at the front of its slots;
    cells (docs, R, 2) int32: gold and rival cell of each among the R·K weights of a feature;
    amount (docs, R), of the weights' type: what x = 1 adds to the sum of the gold cell, times the row's scale.
    """

    fill: NDArray[Any]
    cells: NDArray[Any]
    amount: NDArray[Any]


class Part(NamedTuple):
    """A block of replicas after its walk: replicas first .. last-1, of which those from `lead` on equal lead-1."""

    log: Log
    view: int
    first: int
    lead: int
    last: int


class Updates(NamedTuple):
    """The logs of all blocks joined: the updates of row n are at first[n] .. first[n+1]-1.

    gold, rival int32 (uint16 where that is enough): cells among all weights of a feature; amount as in `Log`;
    block uint16: number of the block, doubled, plus 1 for an update of the block's shared replica.
    """

    first: NDArray[Any]
    gold: NDArray[Any]
    rival: NDArray[Any]
    block: NDArray[Any]
    amount: NDArray[Any]


def new_log(docs: int, replicas: int, dtype: np.dtype[Any]) -> Log:
    """A log without updates."""
    cells, amount = np.empty((docs, replicas, 2), np.int32), np.empty((docs, replicas), dtype)
    return Log(np.zeros(docs, np.int32), cells, amount)


def join(parts: list[Part], classes: int, width: int) -> Updates:
    """One list of updates a row from the logs of all blocks; width: weights of a feature."""
    docs = parts[0].log.fill.size
    first = np.zeros(docs + 1, np.int64)
    np.cumsum(sum(part.log.fill.astype(np.int64) for part in parts), out=first[1:])
    size, cell = int(first[-1]), np.uint16 if width <= 1 << 16 else np.int32
    block = np.uint16 if 2 * len(parts) <= 1 << 16 else np.int32
    amount = np.empty(size, parts[0].log.amount.dtype)
    updates = Updates(first, np.empty(size, cell), np.empty(size, cell), np.empty(size, block), amount)
    place = first[:-1].copy()
    for number, part in enumerate(parts):
        _append(part.log, part.first * classes, (part.lead - part.first - 1) * classes, 2 * number, place, updates)
    return updates


@kernel
def _append(log: Any, shift: Any, leader: Any, block: Any, place: Any, updates: Any) -> None:
    """Put the updates of a log at `place` (docs,), which moves on."""
    for n in range(log.fill.size):
        at = place[n]
        for j in range(log.fill[n]):
            updates.gold[at + j] = log.cells[n, j, 0] + shift
            updates.rival[at + j] = log.cells[n, j, 1] + shift
            updates.block[at + j] = block + (1 if log.cells[n, j, 0] >= leader else 0)
            updates.amount[at + j] = log.amount[n, j]
        place[n] += log.fill[n]


@kernel
def by_feature(crow: Any, col: Any, val: Any, visited: Any, features: Any) -> tuple[Any, Any, Any]:
    """The visited (docs,) rows by feature: begin (V+2,) int64, and row int32 and val of the entries, rows ascending."""
    begin = np.zeros(features + 3, np.int64)
    for n in range(visited.size):
        if visited[n]:
            for e in range(crow[n], crow[n + 1]):
                begin[np.int64(col[e]) + 2] += 1
    for at in range(1, begin.size):
        begin[at] += begin[at - 1]
    row = np.empty(begin[-1], np.int32)
    values = np.empty(begin[-1], val.dtype)
    for n in range(visited.size):
        if visited[n]:
            for e in range(crow[n], crow[n + 1]):
                v = np.int64(col[e]) + 1
                row[begin[v]] = n
                values[begin[v]] = val[e]
                begin[v] += 1
    return begin[:-1], row, values


@kernel
def sweep(
    v_first: Any, v_last: Any, begin: Any, row: Any, val: Any, col_scale: Any, view: Any, updates: Any,
    flat: Any, stride: Any, sums: Any, sums_stride: Any, source: Any, target: Any, of_block: Any, classes: Any,
) -> None:  # fmt: skip
    """Add the updates to the sums of the features v_first .. v_last-1; then copy replica source[i] to target[i].

    view (blocks,); of_block (copies,): the block of a copy, which is made for the features that the block's shared
    replica was updated at. The sums of the offset, feature 0, were kept by the walk, which leaves only the copies.
    """
    dtype = flat.dtype.type
    scale = np.empty(2 * view.size, flat.dtype)
    led = np.empty(2 * view.size, np.bool_)
    for v in range(v_first, v_last):
        for b in range(view.size):
            scale[2 * b] = scale[2 * b + 1] = dtype(col_scale[view[b], v])
        led[:] = v == 0
        base = v * sums_stride
        for e in range(begin[v], begin[v + 1]):
            x = dtype(val[e])
            n = row[e]
            for u in range(updates.first[n], updates.first[n + 1]):
                block = updates.block[u]
                led[block] = True
                if sums.size:
                    change = updates.amount[u] * (x * scale[block])
                    sums[base + updates.gold[u]] += change
                    sums[base + updates.rival[u]] -= change
        for i in range(source.size):
            if led[2 * of_block[i] + 1]:
                _copy(flat, v * stride + source[i] * classes, v * stride + target[i] * classes, classes)
                if sums.size:
                    _copy(sums, base + source[i] * classes, base + target[i] * classes, classes)


@kernel
def _copy(flat: Any, source: Any, target: Any, size: Any) -> None:
    """flat[target : target + size] becomes flat[source : source + size]."""
    a, b = flat[source : source + size], flat[target : target + size]
    for k in range(size):
        b[k] = a[k]
