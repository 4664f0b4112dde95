from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from gpuclf.report.cell_curve import CellCurve


def test_a_stopped_run_counts_with_its_last_value() -> None:
    curve = CellCurve(2)
    curve.add("a", 1, {"x": 1.0})
    curve.add("b", 1, {"x": 3.0})
    assert curve.take() == [(1, {"x": 2.0})]
    curve.add("a", 2, {"x": 2.0})
    assert curve.take() == [(2, {"x": 2.5})]
    curve.add("a", 3, {"x": 5.0})
    assert curve.take() == [(3, {"x": 4.0})]
    assert curve.take(everything=True) == []


def test_runs_in_two_batches_are_joined_when_the_last_has_begun() -> None:
    curve = CellCurve(2)
    for step in (1, 2, 3):
        curve.add("a", step, {"x": float(step)})
        assert curve.take() == []
    curve.add("b", 1, {"x": 3.0})
    assert curve.take() == [(1, {"x": 2.0})]
    curve.add("b", 2, {"x": 4.0})
    assert curve.take() == [(2, {"x": 3.0})]
    assert curve.take(everything=True) == [(3, {"x": 3.5})]


def test_an_interrupted_cell_shows_the_runs_that_it_has() -> None:
    curve = CellCurve(3)
    curve.add("a", 1, {"x": 1.0})
    curve.add("a", 2, {"x": 2.0})
    assert curve.take() == []
    assert curve.take(everything=True) == [(1, {"x": 1.0}), (2, {"x": 2.0})]


def test_a_figure_stands_only_at_steps_where_a_run_reports_it() -> None:
    curve = CellCurve(2)
    given_steps = []
    for step in (1, 2, 3, 4):
        for run in ("a", "b"):
            curve.add(run, step, {"loss": 1.0} | ({"accuracy": float(step)} if step % 2 == 0 else {}))
        given_steps += curve.take()
    assert [step for step, means in given_steps if "accuracy" in means] == [2, 4]
    assert all("loss" in means for _, means in given_steps)


def test_a_diverged_run_makes_the_mean_not_a_number_instead_of_lowering_it() -> None:
    curve = CellCurve(2)
    curve.add("a", 1, {"x": 1.0})
    curve.add("b", 1, {"x": math.nan})
    assert math.isnan(curve.take()[0][1]["x"])


@given(st.data())
def test_every_step_once_rising_whatever_the_batches(data: st.DataObject) -> None:
    """Any cut of runs into batches gives, in the end, the same curve as all runs in one batch."""
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    cut = data.draw(st.integers(0, len(lengths)))
    groups = [group for group in (range(cut), range(cut, len(lengths))) if len(group)]

    def curve_of(batches: list[range]) -> list[tuple[int, dict[str, float]]]:
        curve, points = CellCurve(len(lengths)), []
        for batch in batches:
            for step in range(1, 7):
                rows = [run for run in batch if step <= lengths[run]]
                for run in rows:
                    curve.add(run, step, {"x": float(run * 7 + step)})
                points += curve.take() if rows else []
        return points + curve.take(everything=True)

    points = curve_of(groups)
    assert [step for step, _ in points] == list(range(1, max(lengths) + 1))
    assert points == curve_of([range(len(lengths))])
