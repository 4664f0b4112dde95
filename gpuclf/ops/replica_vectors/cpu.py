"""Inner products and combinations on the CPU, each one reading of the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_CELLS = 1 << 14  # cells of a combination that one piece of work keeps in the first-level cache
_PATTERN = 256  # cells at least that one factor pattern covers, for long vector instructions
_COLUMNS = 512  # cells of a row whose running sums one piece of work keeps


def replica_dots(pairs: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    _, replicas, classes = pairs[0][0].shape
    cells = np.zeros((len(pairs), replicas * classes))
    pieces = [
        partial(_dot, u.numpy().reshape(-1), v.numpy().reshape(-1), start, cells[p, start : start + _COLUMNS], len(u))
        for p, (u, v) in enumerate(pairs)
        for start in range(0, replicas * classes, _COLUMNS)
    ]
    run_on_threads(pieces)
    return torch.from_numpy(_by_replica(cells.reshape(len(pairs), replicas, classes)))


@kernel
def _dot(u: Any, v: Any, start: Any, out: Any, rows: Any) -> None:
    if rows == 0:
        return
    width = u.size // rows
    for m in range(rows):
        at = m * width + start
        a, b = u[at : at + out.size], v[at : at + out.size]
        for j in range(out.size):
            out[j] += np.float64(a[j]) * np.float64(b[j])


@kernel
def _by_replica(cells: Any) -> Any:
    out = np.zeros(cells.shape[:2])
    for p in range(cells.shape[0]):
        for r in range(cells.shape[1]):
            for k in range(cells.shape[2]):
                out[p, r] += cells[p, r, k]
    return out


def replica_combination(factors: Tensor, vectors: Sequence[Tensor]) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    total = torch.zeros_like(vectors[0])
    _, replicas, classes = total.shape
    if not total.numel():
        return total
    rows = -(-_PATTERN // (replicas * classes))
    pattern = factors.to(total.dtype).repeat_interleave(classes, 1).repeat(1, rows).contiguous().numpy()
    flat = [vector.numpy().reshape(-1) for vector in vectors]
    out = total.numpy().reshape(-1)
    size = max(1, _CELLS // pattern.shape[1]) * pattern.shape[1]
    run_on_threads(
        [partial(_combine, pattern, flat, out[start : start + size], start) for start in range(0, out.size, size)]
    )
    return total


def _combine(pattern: Any, flat: list[Any], out: Any, start: int) -> None:
    for factors, vector in zip(pattern, flat, strict=True):
        _add(factors, vector[start : start + out.size], out)


@kernel
def _add(factors: Any, vector: Any, out: Any) -> None:
    at = 0
    while at < out.size:
        width = min(factors.size, out.size - at)
        to, cells = out[at : at + width], vector[at : at + width]
        for j in range(width):
            to[j] += factors[j] * cells[j]
        at += width
