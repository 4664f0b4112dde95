"""Rows in the order of their stratum, found once for all pairs that share a separator; counts per stratum in scratch
tables that never hold more cells than a few times the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import inner_kernel, kernel

_DENSE = 4096  # cells that a stratum's table may have whatever the number of rows
_SLACK = 1e-9


def conditional_statistics(
    codes: Tensor, num_values: Tensor, pairs: Tensor, separators: Tensor, power: float
) -> Tensor:
    """See gpuclf.ops.conditional_tables.conditional_statistics."""
    found = np.zeros((len(pairs), 3))
    if len(pairs):
        sets, group = _groups(separators)
        order = np.argsort(group, kind="stable")
        _all_pairs(codes.numpy(), num_values.numpy(), pairs.numpy(), sets, group, order, float(power), found)
    return torch.from_numpy(found)


def permutation_counts(
    codes: Tensor, num_values: Tensor, pairs: Tensor, separators: Tensor, observed: Tensor, times: int, seed: int
) -> Tensor:
    """See gpuclf.ops.conditional_tables.permutation_counts."""
    counts = np.zeros(len(pairs), dtype=np.int64)
    if len(pairs):
        sets, group = _groups(separators)
        least = observed.numpy() * (1 - _SLACK)
        _permuted(codes.numpy(), num_values.numpy(), pairs.numpy(), sets, group, least, times, seed, counts)
    return torch.from_numpy(counts)


def _groups(separators: Tensor) -> tuple[Any, Any]:
    """The distinct separators (G, V) bool, and which of them each pair has."""
    packed = np.packbits(separators.numpy(), axis=1)
    _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return separators.numpy()[first], group.reshape(-1)


@kernel
def dense_cells(codes: Any, num_values: Any, members: Any, cells: Any, table: Any, stored: Any) -> int:
    """Numbers the cells of the variables `members` by first occurrence, cells (n,) int64; how many there are.

    table (slots,) int64, all −1, a power of two of at least 2 n; stored (n,) int64: scratch, given back as it was.
    """
    rows = cells.size
    for n in range(rows):
        cells[n] = 0
    count = 1 if rows else 0
    for v in range(members.size):
        if members[v]:
            width = num_values[v]
            for n in range(rows):
                cells[n] = cells[n] * width + codes[v, n]
            count = renumber(cells, table, stored)
    return count


@inner_kernel
def slot_of(table: Any, stored: Any, key: int) -> int:
    """Where a key stands in the open-addressed table of places in `stored`, or the free slot where it would."""
    mask = table.size - 1
    mixed = key * np.int64(-7046029254386353131)
    slot = (mixed ^ (mixed >> 31)) & mask
    while table[slot] >= 0 and stored[table[slot]] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def renumber(cells: Any, table: Any, stored: Any) -> int:
    """Replaces keys (n,) int64 by numbers in the order of their first occurrence; how many there are."""
    slots = table.size
    count = 0
    for n in range(cells.size):
        key = cells[n]
        slot = slot_of(table, stored, key)
        if table[slot] < 0:
            table[slot] = count
            stored[count] = key
            count += 1
        cells[n] = table[slot]
    for number in range(count):
        mixed = stored[number] * np.int64(-7046029254386353131)
        slot = (mixed ^ (mixed >> 31)) & (slots - 1)
        while table[slot] >= 0:  # the run of full slots from here on; those before are another key's
            table[slot] = -1
            slot = (slot + 1) & (slots - 1)
    return count


@kernel
def slots_for(rows: int) -> int:
    """A power of two of at least twice the rows."""
    slots = 16
    while slots < 2 * rows:
        slots *= 2
    return slots


@kernel
def _stratum_order(cells: Any, count: int, order: Any, start: Any) -> None:
    """order (n,): rows by stratum, start (count + 1,): where each begins."""
    for s in range(count + 1):
        start[s] = 0
    for n in range(cells.size):
        start[cells[n] + 1] += 1
    for s in range(count):
        start[s + 1] += start[s]
    place = start[:count].copy()
    for n in range(cells.size):
        order[place[cells[n]]] = n
        place[cells[n]] += 1


@kernel
def _all_pairs(
    codes: Any, num_values: Any, pairs: Any, sets: Any, group: Any, by_group: Any, power: float, found: Any
) -> None:
    rows = codes.shape[1]
    cells, stored = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    table = np.full(slots_for(rows), -1, dtype=np.int64)
    order, start = np.zeros(rows, dtype=np.int64), np.zeros(rows + 1, dtype=np.int64)
    logs = np.zeros(rows + 1)
    for n in range(1, rows + 1):
        logs[n] = n * np.log(n)
    most = 1
    for v in range(num_values.size):
        most = max(most, num_values[v])
    count_a, count_b = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    joint = np.zeros(max(_DENSE, 4 * rows), dtype=np.int64)
    touched = np.zeros(rows, dtype=np.int64)
    left, right = np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32)
    last, count = -1, 0
    for place in range(by_group.size):
        pair = by_group[place]
        if group[pair] != last:
            last = group[pair]
            count = dense_cells(codes, num_values, sets[last], cells, table, stored)
            _stratum_order(cells, count, order, start)
        a, b = pairs[pair, 0], pairs[pair, 1]
        for n in range(rows):
            left[n] = codes[a, order[n]]
            right[n] = codes[b, order[n]]
        _pair(
            left, right, num_values[b], num_values[a] * num_values[b] <= joint.size, start, count, logs, power,
            count_a, count_b, joint, touched, table, stored, found[pair],
        )  # fmt: skip


@kernel
def _pair(
    left: Any, right: Any, width: int, dense: bool, start: Any, count: int, logs: Any, power: float,
    count_a: Any, count_b: Any, joint: Any, touched: Any, table: Any, stored: Any, found: Any,
) -> None:  # fmt: skip
    """The figures of one pair, stratum after stratum; a pair of many values is counted in a hash table."""
    total, seen, cells = 0.0, 0.0, 0.0
    for s in range(count):
        first, end = start[s], start[s + 1]
        held, values_a, values_b = _count(
            left, right, width, dense, first, end, count_a, count_b, joint, touched, table, stored
        )
        if power == 0.0:
            total += logs[end - first] + _log_sums(left, right, dense, first, end, held, logs, count_a, count_b, joint,
                                                   touched)  # fmt: skip
        else:
            total += _ratios(left, right, width, dense, first, end, held, power, count_a, count_b, joint, touched,
                             stored)  # fmt: skip
        for i in range(held):
            joint[touched[i] if dense else i] = 0
            if not dense:
                table[touched[i]] = -1
        seen += (values_a - 1) * (values_b - 1)
        cells += held + 1 - values_a - values_b
    scaled = 2 * total if power == 0.0 else 2 / (power * (power + 1)) * (total - left.size)
    found[0] = max(scaled, 0.0)
    found[1] = seen
    found[2] = cells


@inner_kernel
def _count(
    left: Any, right: Any, width: int, dense: bool, first: int, end: int,
    count_a: Any, count_b: Any, joint: Any, touched: Any, table: Any, stored: Any,
) -> Any:  # fmt: skip
    """Counts a stratum's rows: how many cells, values of a and values of b occur.

    touched: the cells of `joint` that hold a count where these are numbered by values, else the slots of the table.
    """
    held, values_a, values_b = 0, 0, 0
    for n in range(first, end):
        a, b = left[n], right[n]
        values_a += count_a[a] == 0
        values_b += count_b[b] == 0
        count_a[a] += 1
        count_b[b] += 1
        key = np.int64(a) * width + b
        if dense:
            if joint[key] == 0:
                touched[held] = key
                held += 1
            joint[key] += 1
        else:
            slot = slot_of(table, stored, key)
            if table[slot] < 0:
                table[slot] = held
                stored[held] = key
                touched[held] = slot
                joint[held] = 0
                held += 1
            joint[table[slot]] += 1
    return held, values_a, values_b


@inner_kernel
def _log_sums(
    left: Any, right: Any, dense: bool, first: int, end: int, held: int, logs: Any,
    count_a: Any, count_b: Any, joint: Any, touched: Any,
) -> float:  # fmt: skip
    """L(ab) − L(a) − L(b) of a counted stratum; each value's logarithm is taken once, so its count becomes 0."""
    total = 0.0
    for i in range(held):
        total += logs[joint[touched[i] if dense else i]]
    for n in range(first, end):
        total -= logs[count_a[left[n]]] + logs[count_b[right[n]]]
        count_a[left[n]] = 0
        count_b[right[n]] = 0
    return total


@inner_kernel
def _ratios(
    left: Any, right: Any, width: int, dense: bool, first: int, end: int, held: int, power: float,
    count_a: Any, count_b: Any, joint: Any, touched: Any, stored: Any,
) -> float:  # fmt: skip
    """Σ O (O / E)^power of a counted stratum, whose values' counts become 0."""
    total = 0.0
    for i in range(held):
        place = touched[i] if dense else i
        key = touched[i] if dense else stored[i]
        expected = count_a[key // width] * count_b[key % width] / (end - first)
        total += joint[place] * (joint[place] / expected) ** power
    for n in range(first, end):
        count_a[left[n]] = 0
        count_b[right[n]] = 0
    return total


@kernel
def mix(key: Any) -> Any:
    """The finaliser of gpuclf.ops.counter_hash, of a key that was added to the state."""
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _permuted(
    codes: Any, num_values: Any, pairs: Any, sets: Any, group: Any, least: Any, times: int, seed: int, counts: Any
) -> None:
    variables, rows = codes.shape
    cells, stored = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    table = np.full(slots_for(rows), -1, dtype=np.int64)
    order, start = np.zeros(rows, dtype=np.int64), np.zeros(rows + 1, dtype=np.int64)
    logs = np.zeros(rows + 1)
    for n in range(1, rows + 1):
        logs[n] = n * np.log(n)
    most = 1
    for v in range(num_values.size):
        most = max(most, num_values[v])
    count_a, count_b = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    joint = np.zeros(max(_DENSE, 4 * rows), dtype=np.int64)
    touched = np.zeros(rows, dtype=np.int64)
    left, right = np.zeros(rows, dtype=np.int32), np.zeros(rows, dtype=np.int32)
    drawn, figures = np.zeros(rows, dtype=np.int64), np.zeros(3)
    for pair in range(pairs.shape[0]):
        count = dense_cells(codes, num_values, sets[group[pair]], cells, table, stored)
        _stratum_order(cells, count, order, start)
        a, b = pairs[pair, 0], pairs[pair, 1]
        dense = num_values[a] * num_values[b] <= joint.size
        for n in range(rows):
            left[n] = codes[a, order[n]]
        for time in range(times):
            first = mix(mix(np.uint64(seed)) + np.uint64(time))
            for n in range(rows):
                drawn[n] = np.int64(mix(mix(first + np.uint64(order[n])) + np.uint64(a * variables + b)))
            for s in range(count):
                ranked = np.argsort(drawn[start[s] : start[s + 1]], kind="mergesort")
                for n in range(ranked.size):
                    right[start[s] + n] = codes[b, order[start[s] + ranked[n]]]
            _pair(
                left, right, num_values[b], dense, start, count, logs, 0.0,
                count_a, count_b, joint, touched, table, stored, figures,
            )  # fmt: skip
            counts[pair] += figures[0] >= least[pair]
