"""How the replicas of the streams are cut into pieces of work for the threads of a CPU."""

from __future__ import annotations

from itertools import pairwise
from math import gcd

_WIDEST = 1024  # weights of a feature that a task takes: a row's weights stay in the L2 cache for the update


def tasks(
    start: list[int], own: list[int], lengths: list[int], classes: int, threads: int
) -> list[tuple[int, int, int]]:
    """(stream, first replica, last replica + 1) of each task, the longest first.

    A whole stream is the cheapest task, as its rows are read once; but tasks of equal length must fill all threads. So
    as many streams as go evenly into the threads stay whole and the others are cut into equal parts. Only the replicas
    up to own[g] are work; the others of the stream go with the last of these.
    """
    sizes = [(own[g] - start[g]) * lengths[g] for g in range(len(lengths))]
    by_size = sorted((g for g, size in enumerate(sizes) if size), key=lambda g: (-sizes[g], g))
    left_over = len(by_size) % threads
    parts = threads // gcd(left_over, threads) if left_over else 1
    pieces = []
    for rank, g in enumerate(by_size):
        count = own[g] - start[g]
        widest = max(1, _WIDEST // classes)
        wanted = max(parts if rank >= len(by_size) - left_over else 1, -(-count // widest))
        cuts = [start[g] + count * i // wanted for i in range(wanted + 1)]
        pieces += [(g, a, b) for a, b in pairwise(cuts) if a < b]
    pieces.sort(key=lambda task: ((task[1] - task[2]) * lengths[task[0]], task))
    return [(g, a, start[g + 1] if b == own[g] else b) for g, a, b in pieces]
