"""Choosing a cell: means over runs, ties to the simplest, and a diverged run is never a candidate (case o16)."""

from __future__ import annotations

import math

import pytest

from gpuclf.train.selection import RunRecord, cell_records, choose_cell


def record(cell: int, value: float, fold: int = 0, status: str = "max_epochs") -> RunRecord:
    return RunRecord(cell, 0, fold, status, 3, {"accuracy": value})


def test_the_mean_over_folds_decides() -> None:
    runs = [record(0, 1.0), record(0, 0.0, 1), record(1, 0.6), record(1, 0.6, 1)]
    cells = cell_records([{"model.C": 1.0}, {"model.C": 2.0}], runs)
    best = choose_cell(cells, "accuracy", {})
    assert best is not None
    assert best.index == 1
    assert best.mean["accuracy"] == pytest.approx(0.6)
    assert cells[0].std["accuracy"] == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(("status", "value"), [("diverged", 0.9), ("max_epochs", math.nan), ("max_epochs", math.inf)])
def test_a_diverged_or_non_finite_run_is_never_chosen_nor_averaged(status: str, value: float) -> None:
    runs = [record(0, value, status=status), record(0, 1.0, 1), record(1, 0.1), record(1, 0.2, 1)]
    cells = cell_records([{"a": 1}, {"a": 2}], runs)
    best = choose_cell(cells, "accuracy", {})
    assert best is not None
    assert best.index == 1
    assert cells[0].mean == {}
    assert "failed" in cells[0].as_json()


def test_nothing_is_chosen_where_all_failed() -> None:
    cells = cell_records([{"a": 1}], [record(0, math.nan)])
    assert choose_cell(cells, "accuracy", {}) is None


@pytest.mark.parametrize(("direction", "winner"), [(-1, 0), (1, 1)])
def test_ties_go_to_the_stronger_regularisation(direction: int, winner: int) -> None:
    cells = cell_records([{"model.C": 1.0}, {"model.C": 2.0}], [record(0, 0.5), record(1, 0.5)])
    best = choose_cell(cells, "accuracy", {"model.C": direction})
    assert best is not None
    assert best.index == winner


def test_other_ties_go_to_the_first_in_the_grid() -> None:
    cells = cell_records([{"a": "x"}, {"a": "y"}], [record(0, 0.5), record(1, 0.5)])
    best = choose_cell(cells, "accuracy", {})
    assert best is not None
    assert best.index == 0
