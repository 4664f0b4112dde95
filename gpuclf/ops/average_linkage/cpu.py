"""Numba kernel: every cluster remembers its best later partner, and looks for a new one only where that one changed."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import inner_kernel, kernel
from gpuclf.ops.threads import run_on_threads


def average_linkage(grams: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """See the package."""
    groups, rows = grams.shape[:2]
    pairs = torch.full((groups, rows - 1, 2), -1, dtype=torch.int64)
    likeness = torch.full((groups, rows - 1), -torch.inf, dtype=torch.float64)
    arrays = (grams.contiguous().numpy(), sizes.contiguous().numpy())
    pieces = min(4 * torch.get_num_threads(), groups)
    ends = torch.linspace(0, groups, pieces + 1).to(torch.int64).tolist()
    found = (pairs.numpy(), likeness.numpy())
    run_on_threads([partial(_merge, *arrays, start, end, *found) for start, end in pairwise(ends)])
    return pairs, likeness


@kernel
def _merge(grams: Any, sizes: Any, start: Any, end: Any, pairs: Any, likeness: Any) -> Any:
    rows = grams.shape[1]
    count, alive = np.zeros(rows), np.zeros(rows, np.bool_)
    best, partner = np.zeros(rows), np.zeros(rows, np.int64)
    between = np.zeros((rows, rows))
    for g in range(start, end):
        size = sizes[g]
        for i in range(size):
            count[i], alive[i] = 1.0, True
            for j in range(size):
                between[i, j] = grams[g, i, j]
        for i in range(size):
            _look(between, count, alive, size, i, best, partner)
        for step in range(size - 1):
            a = -1
            for i in range(size):
                if alive[i] and partner[i] >= 0 and (a < 0 or best[i] > best[a]):
                    a = i
            b = partner[a]
            pairs[g, step, 0], pairs[g, step, 1], likeness[g, step] = a, b, best[a]
            _join(between, count, alive, size, a, b, best, partner)


@inner_kernel
def _join(between: Any, count: Any, alive: Any, size: Any, a: Any, b: Any, best: Any, partner: Any) -> Any:
    alive[b] = False
    count[a] += count[b]
    for x in range(size):
        between[a, x] += between[b, x]
    for x in range(size):
        between[x, a] += between[x, b]
    _look(between, count, alive, size, a, best, partner)
    for i in range(b):
        if alive[i] and i != a:
            if partner[i] == b or partner[i] == a:
                _look(between, count, alive, size, i, best, partner)
            elif i < a:
                mean = between[i, a] / (count[i] * count[a])
                if mean > best[i] or (mean == best[i] and a < partner[i]):
                    best[i], partner[i] = mean, a


@inner_kernel
def _look(between: Any, count: Any, alive: Any, size: Any, i: Any, best: Any, partner: Any) -> Any:
    """The best later partner of cluster i, the first of equals; -1 where there is none."""
    best[i], partner[i] = -np.inf, -1
    for j in range(i + 1, size):
        if alive[j]:
            mean = between[i, j] / (count[i] * count[j])
            if mean > best[i]:
                best[i], partner[i] = mean, j
