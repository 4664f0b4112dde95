"""McNemar's test against scipy's binomial and chi-squared, and statsmodels' figures (0.15, `contingency_tables`)."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gpuclf.metrics.mcnemar import disagreements, mcnemar, normal_quantile, paired_interval, sign_test

COUNTS = st.integers(0, 300)


@pytest.mark.parametrize(
    ("counts", "exact", "plain", "plain_p", "corrected", "corrected_p"),
    [
        ((5, 0), 0.0625, 5.0, 0.025347318677468325, 3.2, 0.07363827012030258),
        ((10, 2), 0.03857421875, 5.333333333333333, 0.020921335337794035, 4.083333333333333, 0.04330814281079206),
        ((15, 30), 0.035697803555194696, 5.0, 0.025347318677468325, 4.355555555555555, 0.036888425707049914),
        (
            (60000, 59000),
            0.0037798696347767836,
            8.403361344537815,
            0.0037452784241777982,
            8.386563025210084,
            0.0037800500730278655,
        ),
    ],
)
def test_the_figures_of_statsmodels(
    counts: tuple[int, int], exact: float, plain: float, plain_p: float, corrected: float, corrected_p: float
) -> None:
    test = mcnemar(*counts)
    assert test.exact_p == pytest.approx(exact, rel=1e-9)
    assert test.chi_squared == pytest.approx(plain, rel=1e-14)
    assert test.chi_squared_p == pytest.approx(plain_p, rel=1e-12)
    assert test.corrected == pytest.approx(corrected, rel=1e-14)
    assert test.corrected_p == pytest.approx(corrected_p, rel=1e-12)


@given(COUNTS, COUNTS)
def test_every_form_against_scipy(only_first: int, only_second: int) -> None:
    test, total = mcnemar(only_first, only_second), only_first + only_second
    if not total:
        assert (test.form, test.statistic, test.p) == ("no disagreement", 0.0, 1.0)
        return
    assert test.exact_p == pytest.approx(stats.binomtest(only_first, total).pvalue, rel=1e-9)
    assert test.chi_squared_p == pytest.approx(stats.chi2.sf(test.chi_squared, 1), rel=1e-12)
    assert test.corrected_p == pytest.approx(stats.chi2.sf(test.corrected, 1), rel=1e-12)
    if total < 25:
        assert (test.form, test.statistic, test.p) == ("exact binomial", min(only_first, only_second), test.exact_p)
    else:
        assert test.form == "chi-squared with continuity correction"
        assert (test.statistic, test.p) == (test.corrected, test.corrected_p)
    assert mcnemar(only_second, only_first).p == test.p
    assert 0 <= test.p <= 1


def test_equal_counts_say_nothing_in_any_form() -> None:
    """The correction never turns a difference of 0 into one of 1 (statsmodels: 1/60 here, R: 0)."""
    test = mcnemar(30, 30)
    assert (test.corrected, test.corrected_p, test.chi_squared, test.exact_p) == (0.0, 1.0, 0.0, 1.0)


def test_no_count_is_too_large() -> None:
    assert sign_test(10**6, 10**6) == 1.0
    assert sign_test(2 * 10**6, 2 * 10**6 - 4000) == pytest.approx(
        stats.binomtest(2 * 10**6, 4 * 10**6 - 4000).pvalue, rel=1e-7
    )
    assert sign_test(5000, 0) == 0.0, "below the smallest number, not an error"


def test_disagreements() -> None:
    first, second = torch.tensor([True, True, False, False, True]), torch.tensor([True, False, True, False, False])
    assert disagreements(first, second) == (2, 1)


def test_the_interval_by_hand_and_at_the_edges() -> None:
    """Bonett & Price 2012: (11/102 - 3/102) ± 1.96 sqrt((14/102 - (8/102)²) / 102)."""
    low, high = paired_interval(10, 2, 100)
    half = stats.norm.ppf(0.975) * math.sqrt((14 / 102 - (8 / 102) ** 2) / 102)
    assert (low, high) == (pytest.approx(8 / 102 - half), pytest.approx(8 / 102 + half))
    low, high = paired_interval(0, 0, 50)
    assert low == -high < 0, "no disagreement among 50 documents is no proof of none"
    assert paired_interval(3, 0, 3)[1] <= 1.0


def test_normal_quantile() -> None:
    assert normal_quantile(0.975) == pytest.approx(stats.norm.ppf(0.975), rel=1e-14)
