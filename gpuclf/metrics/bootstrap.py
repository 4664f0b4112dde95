"""The paired bootstrap: documents drawn again and again, all classifiers judged on the same draws, for any metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpuclf.metrics.classification import accuracy, macro_f1, micro_f1, weighted_f1
from gpuclf.ops.counter_hash import hash64, uniform

METRICS: dict[str, Callable[[Tensor], Tensor]] = {
    "accuracy": accuracy,
    "macro_f1": macro_f1,
    "micro_f1": micro_f1,
    "weighted_f1": weighted_f1,
}
NUMBERS_AT_ONCE = 1 << 22  # drawn documents and confusion counts of a chunk; bounds memory, never the result


@dataclass(frozen=True)
class BootstrapDifference:
    """A difference of one metric, first minus second: observed, percentile interval, two-sided p.

    p inverts the interval: 2 (1 + smaller count of d* ≤ 0 and d* ≥ 0) / (samples + 1), at most 1, never 0
    (Davison & Hinkley 1997, §4.2, for the added one).
    """

    difference: float
    interval: tuple[float, float]
    p: float
    samples: int


def resampled(
    gold: Tensor,
    predicted: Tensor,
    num_classes: int,
    metric: Callable[[Tensor], Tensor],
    samples: int,
    seed: int,
    documents_at_once: int = NUMBERS_AT_ONCE,
) -> Tensor:
    """The metric of every classifier on every resample, (samples, R) float64.

    gold (n,), predicted (R, n) int64 below num_classes; metric: from confusion matrices (..., K, K) to (...).
    Place i of resample b holds document floor(n · u(seed, b, i)), a hash: no result depends on chunks or device.
    """
    size, replicas = gold.numel(), predicted.shape[0]
    assert size, "an empty test set cannot be drawn from"
    cells = gold * num_classes + predicted  # (R, n)
    area = num_classes * num_classes
    chunk = max(1, documents_at_once // max(size, area))
    place = torch.arange(size, device=gold.device)
    figures = torch.empty(samples, replicas, dtype=torch.float64, device=gold.device)
    for numbers in torch.arange(samples, device=gold.device).split(chunk):
        drawn = (uniform(hash64(seed, numbers[:, None], place)) * size).to(torch.int64)
        first = torch.arange(len(numbers), device=gold.device)[:, None] * area
        for replica in range(replicas):
            counts = torch.bincount((cells[replica][drawn] + first).flatten(), minlength=len(numbers) * area)
            figures[numbers, replica] = metric(counts.view(len(numbers), num_classes, num_classes))
    return figures


def resampled_units(
    gold: Tensor,
    predicted: Tensor,
    num_classes: int,
    metric: Callable[[Tensor], Tensor],
    samples: int,
    seed: int,
    unit: Tensor,
) -> Tensor:
    """`resampled` for documents that hang together: units (the tokens of a review) are drawn whole, with replacement.

    unit (n,) int64: the unit of each document, from 0. Place i of resample b holds unit floor(U · u(seed, b, i)).
    """
    units, area = int(unit.max()) + 1, num_classes * num_classes
    cells = unit * area + gold * num_classes + predicted  # (R, n)
    table = torch.stack([torch.bincount(row, minlength=units * area).view(units, area) for row in cells])
    chunk = max(1, NUMBERS_AT_ONCE // (units + len(cells) * area))
    place = torch.arange(units, device=gold.device)
    figures = torch.empty(samples, len(cells), dtype=torch.float64, device=gold.device)
    for numbers in torch.arange(samples, device=gold.device).split(chunk):
        drawn = (uniform(hash64(seed, numbers[:, None], place)) * units).to(torch.int64)
        times = torch.zeros(len(numbers), units, dtype=torch.float64, device=gold.device)
        times.scatter_add_(1, drawn, torch.ones_like(drawn, dtype=torch.float64))
        counts = (times @ table.to(torch.float64)).to(torch.int64)  # whole numbers below 2^53: exact
        figures[numbers] = metric(counts.view(len(cells), len(numbers), num_classes, num_classes)).t()
    return figures


def bootstrap_difference(observed: float, differences: Tensor, level: float = 0.95) -> BootstrapDifference:
    """The record of an observed difference and its resamples (samples,) float64 (Efron & Tibshirani 1993, ch. 13)."""
    values = differences.cpu().numpy()
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    tail = min(int((values <= 0).sum()), int((values >= 0).sum()))
    p = min(1.0, 2 * (1 + tail) / (len(values) + 1))
    return BootstrapDifference(observed, (float(low), float(high)), p, len(values))
