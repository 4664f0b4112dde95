"""The paired t test over folds, plain and corrected for training sets that overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class PairedT:
    """Mean difference over folds (first minus second), t, degrees of freedom, two-sided p, and the mean's interval."""

    mean: float
    std: float
    t: float
    df: int
    p: float
    interval: tuple[float, float]


def paired_t(
    first: Sequence[float], second: Sequence[float], test_train_ratio: float = 0.0, level: float = 0.95
) -> PairedT:
    """t = mean(d) / sqrt((1/J + ratio) · var(d)) with J - 1 degrees of freedom, for figures of the same J ≥ 2 folds.

    ratio 0 is the plain test (Dietterich 1998, §3.3), whose p is too small: the folds' training sets overlap. The ratio
    n_test / n_train gives the corrected resampled test of Nadeau & Bengio 2003 (eq. 9), for J = r · k folds of repeated
    cross-validation as well (Bouckaert & Frank 2004).
    Where every fold differs alike the variance is 0: p is 1 for no difference at all, else 0 with an infinite t.
    """
    from scipy.special import stdtr, stdtrit  # here, since every training run imports this package

    assert len(first) == len(second) >= 2, (len(first), len(second))
    differences = torch.tensor(first, dtype=torch.float64) - torch.tensor(second, dtype=torch.float64)
    mean, std, df = float(differences.mean()), float(differences.std()), len(first) - 1
    if bool((differences == differences[0]).all()):
        mean, std = float(differences[0]), 0.0  # exactly: the mean of equal numbers may be off by rounding
    error = math.sqrt(1 / len(first) + test_train_ratio) * std
    t = mean / error if error > 0 else (math.copysign(math.inf, mean) if mean else 0.0)
    p = min(1.0, 2 * float(stdtr(df, -abs(t))))
    half = float(stdtrit(df, (1 + level) / 2)) * error
    return PairedT(mean, std, t, df, p, (mean - half, mean + half))
