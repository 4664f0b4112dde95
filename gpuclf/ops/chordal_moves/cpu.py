"""Neighbourhoods as bits; the components that a separator leaves are found once for all pairs that have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.chordal_moves import Moves
from gpuclf.ops.kernel import kernel

_BITS = 63  # of an int64 word that hold nodes: no sign to think of


def chordal_moves(adjacent: Tensor, marks: Tensor, additions: bool, removals: bool) -> Moves:
    """See gpuclf.ops.chordal_moves.chordal_moves."""
    size = adjacent.shape[0]
    add, remove = np.zeros((size, size), dtype=np.bool_), np.zeros((size, size), dtype=np.bool_)
    key = np.zeros((size, size), dtype=np.int64)
    if size:
        find(adjacent.numpy(), marks.numpy(), additions, removals, add, remove, key)
    return Moves(torch.from_numpy(add), torch.from_numpy(remove), torch.from_numpy(key))


@kernel
def find(adjacent: Any, marks: Any, additions: bool, removals: bool, add: Any, remove: Any, key: Any) -> None:
    """Fills add, remove and key of all pairs."""
    size = adjacent.shape[0]
    words = (size + _BITS - 1) // _BITS
    bits = np.zeros((size, words), dtype=np.int64)
    degree = np.zeros(size, dtype=np.int64)
    neighbours = np.zeros((size, size), dtype=np.int32)
    _packed(adjacent, bits, degree, neighbours)
    # separators met so far, in an open-addressed table of their sums; each with the components that it leaves
    slots = 64
    while slots < 4 * size:
        slots *= 2
    table = np.full(slots, -1, dtype=np.int64)
    known = np.zeros((slots // 2 + 1, words), dtype=np.int64)
    parts = np.zeros((slots // 2 + 1, size), dtype=np.int32)
    count = 0
    common = np.zeros(words, dtype=np.int64)
    members, waiting = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
    whole = np.zeros(size, dtype=np.int32)
    _components(neighbours, degree, common, whole, waiting)
    for a in range(size):
        for b in range(a + 1, size):
            edge = adjacent[a, b]
            if (edge and not removals) or (not edge and not additions):
                continue
            shared = np.int64(0)
            for w in range(words):
                common[w] = bits[a, w] & bits[b, w]
                shared |= common[w]
            if not edge and shared == 0:
                add[a, b] = add[b, a] = whole[a] != whole[b]
                continue
            filled, total = _members(common, words, members, marks)
            if edge:
                remove[a, b] = remove[b, a] = _complete(bits, members, filled)
            else:
                found = _place(known, table, common, count)
                if found >= count:  # not met before; where the table is full, worked out for this pair alone
                    count = min(found + 1, slots // 2)
                    _components(neighbours, degree, common, parts[found], waiting)
                add[a, b] = add[b, a] = parts[found, a] != parts[found, b]
            if add[a, b] or remove[a, b]:
                key[a, b] = key[b, a] = total


@kernel
def _packed(adjacent: Any, bits: Any, degree: Any, neighbours: Any) -> None:
    """Neighbourhoods as bits, and as lists."""
    size = degree.size
    for a in range(size):
        for b in range(size):
            if adjacent[a, b]:
                bits[a, b // _BITS] |= np.int64(1) << (b % _BITS)
                neighbours[a, degree[a]] = b
                degree[a] += 1


@kernel
def _place(known: Any, table: Any, common: Any, count: int) -> int:
    """The place of a separator among those known; `count` if it was not met before, and then it is noted there."""
    words, slots = common.size, table.size
    mixed = np.int64(0)
    for w in range(words):
        mixed = (mixed ^ common[w]) * np.int64(-7046029254386353131)
        mixed ^= mixed >> 29
    slot = mixed & (slots - 1)
    while table[slot] >= 0:
        same = True
        for w in range(words):
            if known[table[slot], w] != common[w]:
                same = False
                break
        if same:
            return int(table[slot])
        slot = (slot + 1) & (slots - 1)
    if count < slots // 2:
        table[slot] = count
        for w in range(words):
            known[count, w] = common[w]
    return count


@kernel
def _members(common: Any, words: int, members: Any, marks: Any) -> Any:
    """Lists the nodes of a bit set; how many, and the sum of their marks."""
    filled = 0
    total = np.int64(0)
    for w in range(words):
        rest = common[w]
        node = w * _BITS
        while rest != 0:
            if rest & 1:
                members[filled] = node
                filled += 1
                total += marks[node]
            rest >>= 1
            node += 1
    return filled, total


@kernel
def _complete(bits: Any, members: Any, filled: int) -> bool:
    for i in range(filled):
        for j in range(i + 1, filled):
            if not (bits[members[i], members[j] // _BITS] >> (members[j] % _BITS)) & 1:
                return False
    return True


@kernel
def _components(neighbours: Any, degree: Any, without: Any, part: Any, waiting: Any) -> None:
    """part (V,): numbers from 1 of the components that are left without a set of nodes; 0 for these."""
    size = degree.size
    for node in range(size):
        part[node] = 0
    number = 0
    for first in range(size):
        if part[first] != 0 or (without[first // _BITS] >> (first % _BITS)) & 1:
            continue
        number += 1
        part[first] = number
        waiting[0] = first
        held = 1
        while held > 0:
            held -= 1
            node = waiting[held]
            for place in range(degree[node]):
                other = neighbours[node, place]
                if part[other] == 0 and not (without[other // _BITS] >> (other % _BITS)) & 1:
                    part[other] = number
                    waiting[held] = other
                    held += 1
