"""Holm's correction: statsmodels' figures, and what must hold of any p values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.metrics.holm import holm


def test_the_figures_of_statsmodels() -> None:
    """`multipletests([...], method="holm")`."""
    assert holm([0.01, 0.04, 0.03, 0.005, 0.9]) == pytest.approx([0.04, 0.09, 0.09, 0.025, 0.9], rel=1e-14)


def test_one_or_none() -> None:
    assert holm([]) == []
    assert holm([0.2]) == [0.2]


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.2))
def test_it_is_the_step_down_rule(p_values: list[float], alpha: float) -> None:
    """Reject the smallest p while it is at most alpha / (tests left), and stop at the first that is not."""
    adjusted = holm(p_values)
    assert all(value >= p for value, p in zip(adjusted, p_values, strict=True))
    going, left = True, len(p_values)
    for index in sorted(range(len(p_values)), key=lambda index: p_values[index]):
        going = going and left * p_values[index] <= alpha
        assert (adjusted[index] <= alpha) == going
        left -= 1
