"""The difference of two proportions: accuracies of two classifiers on different, independent test sets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpuclf.metrics.mcnemar import normal_quantile


@dataclass(frozen=True)
class TwoProportions:
    """The z test of "both accuracies are one", two-sided; difference is first minus second, with its interval."""

    first: float
    second: float
    difference: float
    z: float
    p: float
    interval: tuple[float, float]


def two_proportions(
    first_right: int, first_size: int, second_right: int, second_size: int, level: float = 0.95
) -> TwoProportions:
    """z = (p1 - p2) / sqrt(p (1 - p) (1/n1 + 1/n2)) with the pooled share p (Nielsen & Pradhan 2004; Dietterich 1998).

    The interval is Newcombe's hybrid score (1998, Stat. Med. 17:873, method 10), which holds near 0 and 1 as well.
    Where the pooled share is 0 or 1 nothing differs: z is 0, p is 1.
    """
    assert 0 <= first_right <= first_size, (first_right, first_size)
    assert 0 <= second_right <= second_size, (second_right, second_size)
    assert first_size, "an accuracy needs documents"
    assert second_size, "an accuracy needs documents"
    first, second = first_right / first_size, second_right / second_size
    pooled = (first_right + second_right) / (first_size + second_size)
    variance = pooled * (1 - pooled) * (1 / first_size + 1 / second_size)
    z = (first - second) / math.sqrt(variance) if variance > 0 else 0.0
    low1, high1 = wilson_interval(first_right, first_size, level)
    low2, high2 = wilson_interval(second_right, second_size, level)
    gap = first - second
    interval = (gap - math.hypot(first - low1, high2 - second), gap + math.hypot(high1 - first, second - low2))
    return TwoProportions(first, second, gap, z, math.erfc(abs(z) / math.sqrt(2)), interval)


def wilson_interval(right: int, size: int, level: float = 0.95) -> tuple[float, float]:
    """The score interval of one proportion (Wilson 1927)."""
    z = normal_quantile((1 + level) / 2)
    share = right / size
    centre = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    return max(0.0, centre - half), min(1.0, centre + half)
