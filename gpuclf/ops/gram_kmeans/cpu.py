"""Numba kernel: a group after the other, sums over clusters kept up to date; the bits of the reference."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import inner_kernel, kernel
from gpuclf.ops.threads import run_on_threads

_COHESION_STEPS = 2.0**30


def gram_kmeans(
    grams: Tensor, sizes: Tensor, ks: Tensor, draws: Tensor, max_iter: int, least_gain: float
) -> tuple[Tensor, Tensor]:
    """See the reference."""
    groups, rows = grams.shape[:2]
    labels = torch.full((groups, ks.numel(), rows), -1, dtype=torch.int64)
    cohesion = torch.zeros(groups, ks.numel(), dtype=torch.float64)
    arrays = [part.contiguous().numpy() for part in (grams, sizes, ks, draws)]
    pieces = min(4 * torch.get_num_threads(), groups)
    ends = torch.linspace(0, groups, pieces + 1).to(torch.int64).tolist()
    found = (labels.numpy(), cohesion.numpy())
    run_on_threads(
        [partial(_partition, *arrays, max_iter, least_gain, start, end, *found) for start, end in pairwise(ends)]
    )
    return labels, cohesion


@kernel
def _partition(
    grams: Any,
    sizes: Any,
    ks: Any,
    draws: Any,
    max_iter: Any,
    least_gain: Any,
    start: Any,
    end: Any,
    labels: Any,
    cohesion: Any,
) -> Any:
    rows, restarts, most = grams.shape[1], draws.shape[2], draws.shape[3]
    own, moved, nearest = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows)
    sums, squares, rank = np.zeros((rows, most)), np.zeros(most), np.zeros(most, np.int64)
    for b in range(start, end):
        size = sizes[b]
        for j in range(ks.size):
            clusters = min(ks[j], size)
            for s in range(restarts):
                _seed(grams[b], size, clusters, draws[b, j, s], own, nearest)
                _settle(grams[b], size, clusters, max_iter, own, moved, sums, squares)
                _move(grams[b], size, clusters, least_gain, own, sums, squares)
                total = 0.0
                for c in range(clusters):
                    total += np.rint(math.sqrt(squares[c]) * _COHESION_STEPS) / _COHESION_STEPS
                if s == 0 or total > cohesion[b, j]:
                    cohesion[b, j] = total
                    _name(own, size, rank, labels[b, j])


@inner_kernel
def _seed(gram: Any, size: Any, clusters: Any, draws: Any, own: Any, nearest: Any) -> Any:
    for i in range(size):
        own[i] = 0
        nearest[i] = -np.inf
    for c in range(clusters):
        total = 0.0
        for i in range(size):
            total += min(max(1.0 - nearest[i], 0.0), 1.0)
        if not total > 0:
            return
        reached, row = 0.0, size - 1
        for i in range(size):
            reached += min(max(1.0 - nearest[i], 0.0), 1.0)
            if reached > draws[c] * total:
                row = i
                break
        for i in range(size):
            if gram[row, i] > nearest[i]:
                nearest[i] = gram[row, i]
                own[i] = c


@inner_kernel
def _settle(gram: Any, size: Any, clusters: Any, max_iter: Any, own: Any, moved: Any, sums: Any, squares: Any) -> Any:
    """Rows go to their nearest means; sums and squares are those of the labels that are left."""
    for x in range(size):
        for c in range(clusters):
            sums[x, c] = 0.0
        for i in range(size):
            sums[x, own[i]] += gram[x, i]
    for _ in range(max_iter):
        _square(size, clusters, own, sums, squares)
        changed = False
        for i in range(size):
            best, moved[i] = -np.inf, 0
            for c in range(clusters):
                if squares[c] > 0:
                    cosine = sums[i, c] / math.sqrt(squares[c])
                    if cosine > best:
                        best, moved[i] = cosine, c
            changed |= moved[i] != own[i]
        if not changed:
            return
        for i in range(size):
            if moved[i] != own[i]:
                _transfer(gram, size, sums, i, own[i], moved[i])
                own[i] = moved[i]
    _square(size, clusters, own, sums, squares)


@inner_kernel
def _move(gram: Any, size: Any, clusters: Any, least_gain: Any, own: Any, sums: Any, squares: Any) -> Any:
    """The one row that gains most moves, as long as one gains."""
    while True:
        best, row, target = least_gain, -1, -1
        for i in range(size):
            a = own[i]
            lost = math.sqrt(squares[a]) - math.sqrt(max(squares[a] - 2 * sums[i, a] + 1, 0.0))
            for c in range(clusters):
                if c != a:
                    gain = (math.sqrt(squares[c] + 2 * sums[i, c] + 1) - math.sqrt(squares[c])) - lost
                    if gain > best:
                        best, row, target = gain, i, c
        if row < 0:
            return
        source = own[row]
        squares[source] += 1 - 2 * sums[row, source]
        squares[target] += 1 + 2 * sums[row, target]
        _transfer(gram, size, sums, row, source, target)
        own[row] = target


@inner_kernel
def _transfer(gram: Any, size: Any, sums: Any, row: Any, source: Any, target: Any) -> Any:
    for x in range(size):
        sums[x, source] -= gram[x, row]
        sums[x, target] += gram[x, row]


@inner_kernel
def _square(size: Any, clusters: Any, own: Any, sums: Any, squares: Any) -> Any:
    for c in range(clusters):
        squares[c] = 0.0
    for i in range(size):
        squares[own[i]] += sums[i, own[i]]


@inner_kernel
def _name(own: Any, size: Any, rank: Any, labels: Any) -> Any:
    """Clusters numbered in the order of their first rows."""
    for c in range(rank.size):
        rank[c] = -1
    seen = 0
    for i in range(size):
        if rank[own[i]] < 0:
            rank[own[i]] = seen
            seen += 1
        labels[i] = rank[own[i]]
