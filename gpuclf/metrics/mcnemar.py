"""McNemar's test: two classifiers on the same documents, told apart by the documents on which one of them is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

EXACT_BELOW = (
    25  # disagreements; from here on the chi-squared approximation holds (McNemar 1947; Dietterich 1998, §3.1)
)

Form = Literal["no disagreement", "exact binomial", "chi-squared with continuity correction"]


@dataclass(frozen=True)
class McNemar:
    """The test in its three forms, all two-sided; `form`, `statistic` and `p` are those of the form that counts.

    only_first, only_second: documents that only this classifier has right. The exact form's statistic is the smaller of
    the two. Without any disagreement every statistic is 0 and every p is 1: nothing speaks for a difference.
    """

    only_first: int
    only_second: int
    form: Form
    statistic: float
    p: float
    exact_p: float
    chi_squared: float
    chi_squared_p: float
    corrected: float
    corrected_p: float


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """The test from the counts n10 and n01: exact binomial below 25 disagreements, else chi-squared, corrected.

    chi-squared is (n10 - n01)² / (n10 + n01) with one degree of freedom, corrected (|n10 - n01| - 1)² / (n10 + n01)
    (Edwards 1948), and 0 where the counts are equal.
    """
    assert only_first >= 0, only_first
    assert only_second >= 0, only_second
    total, gap = only_first + only_second, abs(only_first - only_second)
    plain = gap * gap / total if total else 0.0
    corrected = max(gap - 1, 0) ** 2 / total if total else 0.0
    exact_p = sign_test(only_first, only_second)
    form: Form
    if not total:
        form, statistic, p = "no disagreement", 0.0, 1.0
    elif total < EXACT_BELOW:
        form, statistic, p = "exact binomial", float(min(only_first, only_second)), exact_p
    else:
        form, statistic, p = "chi-squared with continuity correction", corrected, chi_squared_tail(corrected)
    plain_p, corrected_p = chi_squared_tail(plain), chi_squared_tail(corrected)
    return McNemar(only_first, only_second, form, statistic, p, exact_p, plain, plain_p, corrected, corrected_p)


def disagreements(first_right: Tensor, second_right: Tensor) -> tuple[int, int]:
    """Documents that only the first, and only the second, has right; both (n,) bool."""
    return int((first_right & ~second_right).sum()), int((second_right & ~first_right).sum())


def sign_test(first: int, second: int) -> float:
    """min(1, 2 P(X ≤ min)) for X binomial(first + second, 1/2), in log space: no count is too large; 1 without any."""
    total, least = first + second, min(first, second)
    if 2 * least >= total - 1:
        return 1.0  # at the centre twice the tail reaches 1
    taken = torch.arange(least + 1, dtype=torch.float64)
    size = torch.tensor(float(total), dtype=torch.float64)
    log_ways = torch.lgamma(size + 1) - torch.lgamma(taken + 1) - torch.lgamma(size - taken + 1)
    return min(1.0, math.exp(float(torch.logsumexp(log_ways, 0)) + (1 - total) * math.log(2)))


def chi_squared_tail(statistic: float) -> float:
    """P(X > statistic) for chi-squared with one degree of freedom: the square of a standard normal."""
    return math.erfc(math.sqrt(statistic / 2))


def paired_interval(only_first: int, only_second: int, documents: int, level: float = 0.95) -> tuple[float, float]:
    """Interval of the difference of two accuracies on the same documents, first minus second.

    The adjusted Wald interval of Bonett & Price 2012 (J. Educ. Behav. Stat. 37:479), one document added to each kind of
    disagreement: it keeps a width where the classifiers never disagree.
    """
    size = documents + 2
    first, second = (only_first + 1) / size, (only_second + 1) / size
    half = normal_quantile((1 + level) / 2) * math.sqrt((first + second - (first - second) ** 2) / size)
    return max(-1.0, first - second - half), min(1.0, first - second + half)


def normal_quantile(share: float) -> float:
    """The value below which a standard normal falls with this probability."""
    return float(torch.special.ndtri(torch.tensor(share, dtype=torch.float64)))
