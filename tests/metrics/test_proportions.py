"""Two proportions: figures of statsmodels 0.15 (`proportions_ztest`, `confint_proportions_2indep` method newcomb)."""

from __future__ import annotations

import pytest
from scipy import stats

from gpuclf.metrics.proportions import two_proportions, wilson_interval


@pytest.mark.parametrize(
    ("counts", "z", "p", "interval"),
    [
        (
            (860, 1000, 455, 550),
            1.7189379580294433,
            0.08562566955114571,
            (-0.004446856150238883, 0.07209709942430367),
        ),
        ((9, 10, 20, 20), -1.4383899044561521, 0.1503234554786684, (-0.4041500267952386, 0.08084698762531806)),
        ((3, 200, 1, 150), 0.7258474550057628, 0.4679322915159423, (-0.023373363128937105, 0.037028906529426885)),
    ],
)
def test_the_figures_of_statsmodels(
    counts: tuple[int, int, int, int], z: float, p: float, interval: tuple[float, float]
) -> None:
    test = two_proportions(*counts)
    assert test.z == pytest.approx(z, rel=1e-12)
    assert test.p == pytest.approx(p, rel=1e-12)
    assert test.interval == pytest.approx(interval, rel=1e-9)
    assert test.difference == test.first - test.second == counts[0] / counts[1] - counts[2] / counts[3]


@pytest.mark.parametrize("counts", [(5, 5, 8, 8), (0, 5, 0, 8)])
def test_all_right_or_all_wrong_is_no_difference(counts: tuple[int, int, int, int]) -> None:
    test = two_proportions(*counts)
    assert (test.z, test.p, test.difference) == (0.0, 1.0, 0.0)
    assert test.interval[0] < 0 < test.interval[1]


@pytest.mark.parametrize(("right", "size"), [(0, 7), (3, 7), (7, 7), (55, 1000)])
def test_wilson_against_scipy(right: int, size: int) -> None:
    wanted = stats.binomtest(right, size).proportion_ci(method="wilson")
    assert wilson_interval(right, size) == pytest.approx((wanted.low, wanted.high), rel=1e-9, abs=1e-15)
