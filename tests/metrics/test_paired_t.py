"""The paired t test over folds against scipy, and the corrected form by its equation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from gpuclf.metrics.paired_t import paired_t


def figures(seed: int, folds: int) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    first = generator.normal(0.9, 0.02, folds)
    return first.tolist(), (first + generator.normal(-0.01, 0.01, folds)).tolist()


@pytest.mark.parametrize("folds", [2, 5, 10, 100])
def test_the_plain_test_is_scipys(folds: int) -> None:
    first, second = figures(folds, folds)
    ours, theirs = paired_t(first, second), stats.ttest_rel(first, second)
    assert ours.t == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-10)
    assert ours.df == theirs.df
    wanted = theirs.confidence_interval()
    assert ours.interval == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    swapped = paired_t(second, first)
    assert (swapped.p, swapped.t, swapped.mean) == (ours.p, -ours.t, -ours.mean)


def test_the_correction_adds_the_ratio_of_the_sizes_to_the_variance() -> None:
    """Nadeau & Bengio: for ten folds the factor under the root is 1/10 + 1/9, and t falls by sqrt(19/9)."""
    first, second = figures(3, 10)
    plain, corrected = paired_t(first, second), paired_t(first, second, 1 / 9)
    assert plain.t / corrected.t == pytest.approx(math.sqrt(19 / 9), rel=1e-12)
    assert corrected.p == pytest.approx(2 * stats.t.sf(abs(corrected.t), 9), rel=1e-12)
    assert corrected.mean == plain.mean
    width, wider = (interval[1] - interval[0] for interval in (plain.interval, corrected.interval))
    assert wider / width == pytest.approx(math.sqrt(19 / 9), rel=1e-12)


def test_without_variance() -> None:
    same = paired_t([0.9, 0.8, 0.7], [0.9, 0.8, 0.7])
    assert (same.mean, same.t, same.p, same.interval) == (0.0, 0.0, 1.0, (0.0, 0.0))
    shifted = paired_t([0.5, 0.75, 1.0], [0.25, 0.5, 0.75], 0.5)
    assert (shifted.mean, shifted.t, shifted.p) == (0.25, math.inf, 0.0)
    assert paired_t([0.25, 0.5], [0.5, 0.75]).t == -math.inf
