"""Which edges a chordal graph may gain or lose and stay chordal, each by its own separator."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["Moves", "chordal_moves"]


class Moves(NamedTuple):
    """add, remove (V, V) bool, symmetric: pairs whose edge may be added or taken away. key (V, V) int64: the sum, with
    wrap-around, of marks[v] over the pair's separator N(a) ∩ N(b); 0 for pairs that may not be moved."""

    add: Tensor
    remove: Tensor
    key: Tensor


def chordal_moves(adjacent: Tensor, marks: Tensor, additions: bool = True, removals: bool = True) -> Moves:
    """The moves of a chordal graph: adjacent (V, V) bool, symmetric, without loops; marks (V,) int64.

    a–b may be added iff S = N(a) ∩ N(b) separates a from b, removed iff N(a) ∩ N(b) is complete (Deshpande, Garofalakis
    & Jordan 2001, "Efficient stepwise selection in decomposable models"; Whittaker 1990). What is not asked for is
    False everywhere.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(adjacent.device.type, 'reference')}")
    moves: Moves = kernel.chordal_moves(adjacent, marks, additions, removals)
    return moves
