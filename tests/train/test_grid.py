"""Cells of a grid: order, settings, options, and which of them train together."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpuclf.faults import UserFault
from gpuclf.train.grid import MAX_CELLS, expand, option_value, seeds_of, split_structural
from gpuclf.train.options import ExperimentOptions


def experiment(grid: dict[str, list[Any]], **sections: Any) -> ExperimentOptions:
    return ExperimentOptions.model_validate({"model": {"type": "mira"}, **sections, "grid": grid})


def test_without_a_grid_there_is_one_cell() -> None:
    options = experiment({})
    (cell,) = expand(options)
    assert (cell.index, cell.settings) == (0, {})
    assert cell.options == options
    assert seeds_of(options) == [0]


def test_order_as_written_the_last_key_fastest() -> None:
    options = experiment({"model.C": [1.0, 0.1], "seed": [3, 1], "train.batch": [1, 8]}, seed=7)
    cells = expand(options)
    assert [cell.index for cell in cells] == [0, 1, 2, 3]
    assert [tuple(cell.settings.values()) for cell in cells] == [(1.0, 1), (1.0, 8), (0.1, 1), (0.1, 8)]
    assert all("seed" not in cell.settings for cell in cells)
    assert seeds_of(options) == [3, 1]


def test_options_of_a_cell_have_its_settings_and_no_grid() -> None:
    grid = {"model.C": [1.0, math.inf], "features.ngrams": [[1, 2]], "train.early_stopping.patience": [5]}
    options = experiment(grid, model={"type": "mira", "C": 9.0, "average": False}, train={"max_epochs": 3})
    last = expand(options)[-1].options
    assert option_value(last, "model.C") == math.inf
    assert option_value(last, "model.average") is False
    assert option_value(last, "features.ngrams") == (1, 2)
    assert option_value(last, "train.max_epochs") == 3
    assert option_value(last, "train.early_stopping.patience") == 5
    assert last.grid == {}
    assert last.data == options.data
    assert options.model.C == 9.0  # type: ignore[union-attr]


def test_a_cell_equals_the_experiment_with_these_options() -> None:
    options = experiment({"model.C": [0.5]}, folds={"k": 3})
    (cell,) = expand(options)
    alone = ExperimentOptions.model_validate({"model": {"type": "mira", "C": 0.5}, "folds": {"k": 3}})
    assert cell.options == alone


def test_a_grid_may_choose_the_model() -> None:
    cells = expand(experiment({"model.type": ["mira", "perceptron"], "model.average": [True, False]}))
    kinds = [(option_value(cell.options, "model.type"), option_value(cell.options, "model.average")) for cell in cells]
    assert kinds == [("mira", True), ("mira", False), ("perceptron", True), ("perceptron", False)]


def test_an_impossible_cell_names_its_settings() -> None:
    options = experiment({"model.type": ["mira", "perceptron"], "model.C": [1.0]})
    with pytest.raises(UserFault, match=r"model.type = 'perceptron', model.C = 1.0") as caught:
        expand(options)
    assert caught.value.key == "grid"


def test_too_many_cells() -> None:
    axis = list(range(1, MAX_CELLS))
    with pytest.raises(UserFault, match="cells"):
        expand(experiment({"train.max_epochs": axis, "train.batch": axis}))


def test_cells_that_differ_in_numbers_only_stay_together() -> None:
    grid = {"model.C": [1.0, 2.0], "features.ngrams": [[1, 1], [1, 2]], "model.gamma": [1.0, 3.0]}
    cells = expand(experiment(grid, model={"type": "mira", "margin": "scaled"}))
    groups = split_structural(cells, frozenset({"model.C", "model.gamma"}))
    assert [[cell.index for cell in group] for group in groups] == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_different_ways_to_write_one_structure_are_one_group() -> None:
    cells = expand(experiment({"model.average": [True], "model.C": [1.0, 2.0]}))
    cells += expand(experiment({"model.C": [3.0]}))
    assert len(split_structural(cells, frozenset({"model.C"}))) == 1


def test_one_document_and_all_documents_are_different_structures() -> None:
    """min_df 1 counts documents, min_df 1.0 is a share; they compare equal in Python."""
    cells = expand(experiment({"features.min_df": [1, 1.0]}))
    assert len(split_structural(cells, frozenset({"model.C"}))) == 2


def test_models_of_different_types_are_different_structures() -> None:
    cells = expand(experiment({"model.type": ["mira", "perceptron"]}))
    assert len(split_structural(cells, frozenset({"model.C"}))) == 2


def test_option_value_below_a_section_that_is_off() -> None:
    assert option_value(experiment({}), "train.early_stopping.patience") is None
