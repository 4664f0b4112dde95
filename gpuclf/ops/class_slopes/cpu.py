"""Slopes on the CPU: one reading of the scores, groups over threads, in loops that become vector instructions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.class_slopes.record import ClassSlopes
from gpuclf.ops.exponentials import exponentials
from gpuclf.ops.kernel import kernel
from gpuclf.ops.prefetch import prefetch
from gpuclf.ops.threads import run_on_threads

_ROWS = 1 << 12  # rows that one task takes
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX2 = 0x94D049BB133111EB - (1 << 64)
_LOW34, _LOW37, _LOW33, _LOW53 = (1 << 34) - 1, (1 << 37) - 1, (1 << 33) - 1, (1 << 53) - 1
_WIDE = 16
_AHEAD = 6
_NOTHING = 1e-300  # a class that training has not: its score is -inf


def class_slopes(
    scores: Tensor,
    labels: Tensor,
    rows: Tensor,
    begin: Tensor,
    weights: Tensor | None,
    sampling: float,
    draw: Tensor,
    unit: float,
) -> ClassSlopes:
    """See gpuclf.ops.class_slopes.class_slopes."""
    weight = np.ones(1) if weights is None else weights.to(torch.float64).numpy()
    table, kinds, chosen, starts, hashes = (t.numpy() for t in (scores, labels, rows, begin, draw))
    cuts = np.append(np.searchsorted(starts, np.arange(0, max(1, rows.numel()), _ROWS)), starts.size - 1)
    made: list[Any] = [None] * (cuts.size - 1)

    def work(piece: int) -> None:
        span = int(cuts[piece]), int(cuts[piece + 1])
        made[piece] = slopes(table, kinds, chosen, starts, *span, weight, float(sampling), hashes, float(unit))

    run_on_threads([partial(work, piece) for piece in range(cuts.size - 1)])
    joined = [np.concatenate(part) for part in zip(*made, strict=True)]
    made.clear()
    parts = by_class(*joined, scores.shape[1])
    return ClassSlopes(*(torch.from_numpy(part) for part in parts))


@kernel
def slopes(
    scores: Any, labels: Any, rows: Any, begin: Any, first: Any, last: Any, weights: Any, sampling: Any, draw: Any,
    unit: Any,
) -> Any:  # fmt: skip
    """Class, group, rows, gradient and curvature where the groups first … last - 1 have some, group by group; weights
    may be one number for all."""
    classes, flat = scores.shape[1], scores.reshape(-1)
    wide = -(-classes // _WIDE) * _WIDE  # whole vectors: what is left over would take as long again, one by one
    above, p, scratch = np.full(wide, -np.inf), np.empty(wide), np.empty(wide)
    slope, bend = np.empty(wide), np.empty(wide)
    count, up, curved = np.zeros(wide, np.int64), np.zeros(wide, np.int64), np.zeros(wide, np.int64)
    most_found = (last - first) * classes + 1
    kind, group, held = (np.empty(most_found, np.int32), np.empty(most_found, np.int32), np.empty(most_found, np.int32))
    gradient, curvature, filled = np.empty(most_found, np.int64), np.empty(most_found, np.int64), 0
    for g in range(first, last):
        for k in range(wide):
            count[k], up[k], curved[k] = 0, 0, 0
        for place in range(begin[g], begin[g + 1]):
            row = rows[place]
            ahead = rows[min(place + _AHEAD, rows.size - 1)]
            for k in range(0, classes, 8):
                prefetch(flat, ahead * classes + k)
            most = scores[row, 0]
            for k in range(1, classes):
                most = max(most, scores[row, k])
            for k in range(classes):
                above[k] = scores[row, k] - most
            exponentials(above, p, scratch)
            total = 0.0
            for k in range(classes):
                total += p[k]
            share = 1.0 / total
            for k in range(wide):
                x = p[k] * share if p[k] > _NOTHING else 0.0
                slope[k], bend[k] = x, x * (1.0 - x)
            slope[labels[row]] -= 1.0
            if sampling > 0.0:
                sample(slope, bend, draw[place], sampling)
            add_whole(slope, bend, unit, weights[place] if weights.size > 1 else weights[0], count, up, curved)
        for k in range(classes):
            kind[filled], group[filled], held[filled] = k, g, count[k]
            gradient[filled], curvature[filled] = up[k], curved[k]
            filled += count[k] > 0
    return kind[:filled], group[:filled], held[:filled], gradient[:filled], curvature[:filled]


@kernel
def by_class(kind: Any, group: Any, held: Any, gradient: Any, curvature: Any, classes: Any) -> Any:
    """The parts of ClassSlopes: sorted by class, in the order that they have."""
    begin = np.zeros(classes + 1, np.int64)
    for k in kind:
        begin[k + 1] += 1
    for k in range(classes):
        begin[k + 1] += begin[k]
    filled = begin[:classes].copy()
    new_group, new_held = np.empty_like(group), np.empty_like(held)
    new_gradient, new_curvature = np.empty_like(gradient), np.empty_like(curvature)
    for place in range(kind.size):
        at = filled[kind[place]]
        filled[kind[place]] += 1
        new_group[at], new_held[at] = group[place], held[place]
        new_gradient[at], new_curvature[at] = gradient[place], curvature[place]
    return begin, new_group, new_held, new_gradient, new_curvature


@kernel
def sample(slope: Any, bend: Any, draw: Any, sampling: Any) -> None:
    """Keeps the pairs that are drawn, in proportion greater, and sets the others to 0."""
    for k in range(slope.size):
        size = abs(slope[k])
        taken = uniform(draw + k) * sampling < size
        greater = sampling / (size if size > 0.0 else 1.0)
        factor = 1.0 if size >= sampling else (greater if taken else 0.0)
        slope[k] *= factor
        bend[k] *= factor


@kernel
def add_whole(slope: Any, bend: Any, unit: Any, weight: Any, count: Any, up: Any, curved: Any) -> None:
    """Adds a row's slopes, rounded."""
    for k in range(slope.size):
        one = np.int64(np.rint(np.rint(slope[k] * unit) * weight))
        other = np.int64(np.rint(np.rint(bend[k] * unit) * weight))
        count[k] += np.int64((one | other) != 0)
        up[k] += one
        curved[k] += other


@kernel
def uniform(state: Any) -> Any:
    """In [0, 1), from hash64(…, k) where `state` is hash64(…) + k: see gpuclf.ops.counter_hash."""
    z = state + _GOLDEN
    z = (z ^ ((z >> 30) & _LOW34)) * _MIX1
    z = (z ^ ((z >> 27) & _LOW37)) * _MIX2
    z = z ^ ((z >> 31) & _LOW33)
    return ((z >> 11) & _LOW53) * 2.0**-53
