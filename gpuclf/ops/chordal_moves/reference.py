"""Pair after pair by the two rules, components by spreading over the adjacency matrix."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.chordal_moves import Moves


def chordal_moves(adjacent: Tensor, marks: Tensor, additions: bool, removals: bool) -> Moves:
    """See gpuclf.ops.chordal_moves.chordal_moves."""
    size = adjacent.shape[0]
    add, remove = torch.zeros_like(adjacent), torch.zeros_like(adjacent)
    key = torch.zeros(size, size, dtype=torch.int64, device=adjacent.device)
    for a in range(size):
        for b in range(a + 1, size):
            common = adjacent[a] & adjacent[b]
            if bool(adjacent[a, b]):
                allowed = removals and _complete(adjacent, common)
                remove[a, b] = remove[b, a] = allowed
            else:
                allowed = additions and not _connected(adjacent, a, b, common)
                add[a, b] = add[b, a] = allowed
            if allowed:
                key[a, b] = key[b, a] = marks[common].sum()
    return Moves(add, remove, key)


def _complete(adjacent: Tensor, members: Tensor) -> bool:
    inside = adjacent[members][:, members]
    count = inside.shape[0]
    return int(inside.sum()) == count * (count - 1)


def _connected(adjacent: Tensor, a: int, b: int, without: Tensor) -> bool:
    """Whether a path leads from a to b that avoids the nodes in `without`."""
    reached = torch.zeros_like(without)
    reached[a] = True
    while True:
        further = (adjacent[reached].any(0) | reached) & ~without
        if bool(further[b]):
            return True
        if bool((further == reached).all()):
            return False
        reached = further
