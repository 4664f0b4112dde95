"""The stable part of a search: the edges that searches on parts of the rows find again.

Stability selection (Meinshausen & Bühlmann 2010, "Stability selection", J. R. Stat. Soc. B 72) takes what a procedure
selects in a share of at least π of its runs on subsamples, π from .6 to .9. Here the procedure is a search by its
criterion, and the subsamples are the rows outside of each inner fold. Edges so chosen need not make a chordal graph, so
that they are taken in the order in which the search over all rows moved them, as far as graphs stay chordal.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def stable_graph(begun: Tensor, moves: Tensor, others: Tensor, share: float) -> Tensor:
    """The graph (V, V) bool of the stable moves of a search from `begun` (V, V), chordal, by its moves (S, 2).

    others (J, V, V) bool: the graphs at which the searches on parts of the rows ended. A move is stable if at least
    share · J of them agree with it: have the edge that it adds, or lack the one that it takes away. Stable moves are
    made in their order; one that would leave a graph that is not chordal waits, and is tried again after those behind
    it, until none can be made. Nothing is moved that the search over all rows did not move.
    """
    graph = begun.cpu().numpy().copy()
    least = math.ceil(share * len(others) - 1e-9)
    agree = others.sum(dim=0).cpu().numpy()
    left = []
    for a, b in last_moves(moves):
        having = int(agree[a, b])
        if (len(others) - having if graph[a, b] else having) >= least:
            left.append((a, b))
    while True:
        waiting = []
        for a, b in left:
            if stays_chordal(graph, a, b):
                graph[a, b] = graph[b, a] = ~graph[a, b]
            else:
                waiting.append((a, b))
        if len(waiting) == len(left):
            return torch.from_numpy(graph).to(begun.device)
        left = waiting


def last_moves(moves: Tensor) -> list[tuple[int, int]]:
    """The pairs of the moves (S, 2), −1 for none, that were moved an odd number of times, where each was moved last."""
    odd: dict[tuple[int, int], None] = {}
    for a, b in moves.tolist():
        if (a, b) in odd:
            del odd[a, b]
        elif a >= 0:
            odd[a, b] = None
    return list(odd)


def stays_chordal(graph: NDArray[np.bool_], a: int, b: int) -> bool:
    """Whether a chordal graph (V, V) stays so when edge a–b is moved.

    Added: iff the common neighbours part a from b; taken away: iff the common neighbours are all adjacent.
    """
    common = graph[a] & graph[b]
    if graph[a, b]:
        inside = graph[np.ix_(common, common)]
        return bool(inside.sum() == len(inside) * (len(inside) - 1))
    reached = np.zeros(len(graph), dtype=np.bool_)
    edge = reached.copy()
    edge[a] = True
    while edge.any():
        reached |= edge
        edge = graph[edge].any(axis=0) & ~reached & ~common
    return not bool(reached[b])
