"""Choosing a cell: means over runs, ties to the simplest, and a diverged run is never a candidate (case o16)."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.train.selection import CellRecord, RunRecord, cell_records, choose_cell, contenders, standard_error


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


def cells_with(*figures: tuple[float, ...]) -> list[CellRecord]:
    """Cells of rising C with these accuracies by fold."""
    runs = [record(cell, value, fold) for cell, values in enumerate(figures) for fold, value in enumerate(values)]
    return cell_records([{"model.C": float(cell)} for cell in range(len(figures))], runs)


@pytest.mark.parametrize(("direction", "winner"), [(-1, 1), (1, 3)])
def test_the_simplest_within_one_standard_error_of_the_best(direction: int, winner: int) -> None:
    """The best cell is number 2: mean .8, standard deviation .1414 over two folds, standard error .1."""
    cells = cells_with((0.6, 0.6), (0.71, 0.71), (0.7, 0.9), (0.72, 0.72))
    assert standard_error(cells[2], "accuracy") == pytest.approx(0.1)
    best = choose_cell(cells, "accuracy", {"model.C": direction}, one_standard_error=True)
    assert best is not None
    assert best.index == winner
    plain = choose_cell(cells, "accuracy", {"model.C": direction})
    assert plain is not None
    assert plain.index == 2


def test_a_diverged_cell_is_not_near_the_best_either() -> None:
    cells = cells_with((math.nan, 0.8), (0.7, 0.9))
    best = choose_cell(cells, "accuracy", {"model.C": -1}, one_standard_error=True)
    assert best is not None
    assert best.index == 1


def test_seeds_are_no_folds() -> None:
    """Two seeds of each fold: the error is over the two folds' means."""
    runs = [
        RunRecord(0, seed, fold, "max_epochs", 1, {"accuracy": 0.7 + 0.2 * fold}) for seed in (0, 1) for fold in (0, 1)
    ]
    assert standard_error(cell_records([{}], runs)[0], "accuracy") == pytest.approx(0.1)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=7), st.randoms(use_true_random=False)
)
def test_no_cell_is_forgotten_that_a_later_one_would_let_win(eighths: list[tuple[int, int]], order: Random) -> None:
    """Cells arrive in any order; what is kept of those so far always holds the final choice, once it has arrived."""
    cells = cells_with(*((a / 8, b / 8) for a, b in eighths))
    final = choose_cell(cells, "accuracy", {"model.C": -1}, one_standard_error=True)
    assert final is not None
    arrived: list[CellRecord] = []
    shuffled = cells.copy()
    order.shuffle(shuffled)
    for cell in shuffled:
        arrived.append(cell)
        kept = contenders(arrived, "accuracy", {"model.C": -1}, one_standard_error=True)
        assert final not in arrived or final.index in kept
