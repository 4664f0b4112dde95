"""Nested cross-validation: which cell each fold gets, and what becomes of a fold that no cell survives."""

from __future__ import annotations

import math

import pytest

from gpuclf.train.nested import nested_record
from gpuclf.train.options import SelectOptions
from gpuclf.train.selection import RunRecord

SETTINGS = [{"model.C": 0.1}, {"model.C": 1.0}]


def run(cell: int, fold: int, value: float, inner: int | None = None, seed: int = 0) -> RunRecord:
    return RunRecord(cell, seed, fold, "max_epochs", 1, {"accuracy": value}, inner)


def runs_of(outer: dict[tuple[int, int], float], inner: dict[tuple[int, int], tuple[float, ...]]) -> list[RunRecord]:
    """By (cell, fold): the outer figure, and the figures on the inner folds."""
    found = [run(cell, fold, value) for (cell, fold), value in outer.items()]
    return found + [
        run(cell, fold, value, number) for (cell, fold), values in inner.items() for number, value in enumerate(values)
    ]


def test_each_fold_gets_the_cell_of_its_own_inner_folds() -> None:
    """The outer figures have no say: cell 0 wins inside fold 0, though cell 1 is better on fold 0 itself."""
    outer = {(0, 0): 0.5, (1, 0): 1.0, (0, 1): 0.25, (1, 1): 0.75}
    inner = {(0, 0): (0.8, 0.8), (1, 0): (0.7, 0.7), (0, 1): (0.1, 0.1), (1, 1): (0.2, 0.2)}
    record = nested_record(SETTINGS, runs_of(outer, inner), SelectOptions(), {})
    assert [(row["fold"], row["cell"], row["accuracy"]) for row in record["folds"]] == [(0, 0, 0.5), (1, 1, 0.75)]
    assert [row["chosen_by"] for row in record["folds"]] == pytest.approx([0.8, 0.2])
    assert record["mean"] == {"accuracy": 0.625}
    assert record["std"]["accuracy"] == pytest.approx(0.25 / math.sqrt(2))


def test_seeds_are_averaged_within_a_fold() -> None:
    runs = [run(0, 0, 0.5), run(0, 0, 1.0, seed=1), run(0, 0, 0.4, 0), run(0, 0, 0.6, 0, seed=1)]
    (row,) = nested_record(SETTINGS[:1], runs, SelectOptions(), {})["folds"]
    assert (row["accuracy"], row["chosen_by"]) == (0.75, 0.5)


def test_a_cell_that_diverged_inside_is_not_chosen_there() -> None:
    outer = {(0, 0): 0.5, (1, 0): 1.0}
    record = nested_record(SETTINGS, runs_of(outer, {(0, 0): (0.9, math.nan), (1, 0): (0.1, 0.1)}), SelectOptions(), {})
    assert record["folds"][0]["cell"] == 1


def test_without_a_sound_cell_or_figure_there_is_no_mean() -> None:
    inner = {(0, 0): (math.nan,), (1, 0): (math.inf,), (0, 1): (0.5,), (1, 1): (0.4,)}
    outer = {(0, 0): 0.5, (1, 0): 0.5, (0, 1): math.nan, (1, 1): 0.5}
    record = nested_record(SETTINGS, runs_of(outer, inner), SelectOptions(), {})
    assert [row["cell"] for row in record["folds"]] == [None, 0]
    assert all("failed" in row for row in record["folds"])
    assert "mean" not in record
    assert "failed" in record
