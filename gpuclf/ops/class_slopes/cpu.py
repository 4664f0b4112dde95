"""Slopes on the CPU: one reading of the scores, rows over threads."""

from __future__ import annotations

from functools import partial
from math import exp
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_ROWS = 1 << 12  # rows that one task takes
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX2 = 0x94D049BB133111EB - (1 << 64)
_LOW34, _LOW37, _LOW33, _LOW53 = (1 << 34) - 1, (1 << 37) - 1, (1 << 33) - 1, (1 << 53) - 1


def class_slopes(
    scores: Tensor, labels: Tensor, rows: Tensor, weights: Tensor | None, sampling: float, draw: Tensor, unit: float
) -> tuple[Tensor, Tensor]:
    """See gpuclf.ops.class_slopes.class_slopes."""
    gradient, curvature = (np.zeros(scores.shape[::-1], np.int32) for _ in range(2))
    held = np.ones(1) if weights is None else weights.to(torch.float64).numpy()
    table, kinds, chosen, hashes = scores.numpy(), labels.numpy(), rows.numpy(), draw.numpy()

    def work(start: int) -> None:
        part = slice(start, start + _ROWS)
        own = held if weights is None else held[part]
        slopes(table, kinds, chosen[part], own, float(sampling), hashes[part], float(unit), gradient, curvature)

    run_on_threads([partial(work, start) for start in range(0, rows.numel(), _ROWS)])
    return torch.from_numpy(gradient), torch.from_numpy(curvature)


@kernel
def slopes(
    scores: Any, labels: Any, rows: Any, weights: Any, sampling: Any, draw: Any, unit: Any, gradient: Any,
    curvature: Any,
) -> None:  # fmt: skip
    """Sets the columns `rows` of gradient and curvature (K, docs); weights may be one number for all."""
    classes = scores.shape[1]
    p = np.empty(classes)
    for place in range(rows.size):
        row, label = rows[place], labels[rows[place]]
        weight = weights[place] if weights.size > 1 else weights[0]
        most, total = scores[row, 0], 0.0
        for k in range(1, classes):
            most = max(most, scores[row, k])
        for k in range(classes):
            p[k] = exp(scores[row, k] - most)
            total += p[k]
        for k in range(classes):
            x = p[k] / total
            slope, bend = x - 1.0 if k == label else x, x * (1.0 - x)
            size = abs(slope)
            if size < sampling:
                if uniform(draw[place] + k) * sampling >= size:
                    continue
                slope, bend = slope * (sampling / size), bend * (sampling / size)
            gradient[k, row] = np.int32(round(round(slope * unit) * weight))
            curvature[k, row] = np.int32(round(round(bend * unit) * weight))


@kernel
def uniform(state: Any) -> Any:
    """In [0, 1), from hash64(…, k) where `state` is hash64(…) + k: see gpuclf.ops.counter_hash."""
    z = state + _GOLDEN
    z = (z ^ ((z >> 30) & _LOW34)) * _MIX1
    z = (z ^ ((z >> 27) & _LOW37)) * _MIX2
    z = z ^ ((z >> 31) & _LOW33)
    return ((z >> 11) & _LOW53) * 2.0**-53
