"""What keys of an experiment demand of each other, on options made in Python (places are the config's business)."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gpuclf.train.grid import expand
from gpuclf.train.option_checks import LOOP_KEYS, faults_of, train_keys
from gpuclf.train.options import ExperimentOptions, FoldsOptions


def keys_of_faults(unsure: frozenset[str] = frozenset(), **sections: Any) -> list[str | None]:
    options = ExperimentOptions.model_validate({"model": {"type": "mira"}, **sections})
    return [fault.key for fault in faults_of(options, expand(options), unsure)]


def test_a_sound_experiment_has_none() -> None:
    assert keys_of_faults() == []
    assert keys_of_faults(grid={"model.C": [0.1, 1.0]}, folds={"k": 3}, train={"early_stopping": {}}) == []


def test_folds_and_validation() -> None:
    assert keys_of_faults(folds={"k": 3}, validation={"fraction": 0.1}) == ["validation"]


def test_a_grid_without_anything_to_choose_by() -> None:
    assert keys_of_faults(grid={"model.C": [0.1, 1.0]}) == ["grid"]
    assert keys_of_faults(grid={"model.C": [0.1, 1.0]}, validation={"fraction": 0.1}) == []
    assert keys_of_faults(grid={"seed": [0, 1]}) == []
    assert keys_of_faults(grid={"model.C": [0.1]}) == []


def test_early_stopping_may_come_from_the_grid() -> None:
    assert keys_of_faults(train={"early_stopping": {}}) == ["train.early_stopping"]
    assert keys_of_faults(grid={"train.early_stopping.patience": [2]}) == ["train.early_stopping"]


def test_train_keys_of_the_learner_and_of_the_loop() -> None:
    naive_bayes = {"type": "naive_bayes"}
    assert keys_of_faults(model=naive_bayes, train={"max_epochs": 2, "batch": 3}) == ["train.max_epochs", "train.batch"]
    assert keys_of_faults(model=naive_bayes, grid={"train.max_epochs": [2]}) == ["grid.train.max_epochs"]
    assert keys_of_faults(model=naive_bayes, train=dict.fromkeys(LOOP_KEYS & {"threads", "evaluate_every"}, 2)) == []


def test_one_learner_of_the_grid_is_enough_for_a_train_key() -> None:
    grid = {"model.type": ["naive_bayes", "mira"]}
    assert keys_of_faults(model={"type": "naive_bayes"}, grid=grid, folds={"k": 2}, train={"max_epochs": 2}) == []


def test_train_keys_always_hold_those_of_the_loop() -> None:
    options = ExperimentOptions.model_validate({"model": {"type": "naive_bayes"}})
    assert train_keys(options) == LOOP_KEYS
    options = ExperimentOptions.model_validate({"model": {"type": "mira"}})
    assert train_keys(options) > LOOP_KEYS | {"max_epochs", "shuffle", "batch"}


@pytest.mark.parametrize(
    ("data", "features", "fits"),
    [
        ({"format": "tsv"}, "bag_of_words", True),
        ({"format": "svmlight"}, "as_given", True),
        ({"format": "vw"}, "as_given", True),
        ({"format": "csv", "categorical": ["a"]}, "table", True),
        ({"format": "csv", "numeric": ["a"]}, "table", True),
        ({"format": "tsv"}, "as_given", False),
        ({"format": "tsv"}, "table", False),
        ({"format": "svmlight"}, "bag_of_words", False),
        ({"format": "vw"}, "table", False),
        ({"format": "csv", "numeric": ["a"]}, "bag_of_words", False),
    ],
)
def test_features_fit_the_data(data: dict[str, Any], features: str, fits: bool) -> None:
    found = keys_of_faults(data={"train": "x", **data}, features={"type": features})
    assert found == ([] if fits else ["features.type"])


@pytest.mark.parametrize(("name", "fits"), [("x.svm", True), ("x.VW.gz", True), ("x.tsv.zst", False), ("x", False)])
def test_without_a_format_the_ending_of_the_file_tells(name: str, fits: bool) -> None:
    found = keys_of_faults(data={"train": name}, features={"type": "as_given"})
    assert found == ([] if fits else ["features.type"])


def test_every_cell_is_looked_at_and_a_fault_said_once() -> None:
    grid = {"features.type": ["bag_of_words", "as_given"], "model.C": [1.0, 2.0]}
    assert keys_of_faults(grid=grid, folds={"k": 2}) == ["features.type"]


def test_groups_need_a_column() -> None:
    assert keys_of_faults(folds={"grouped": True}) == ["folds.grouped"]
    assert keys_of_faults(folds={"grouped": True}, data={"train": "x.tsv", "group": "g"}) == []


def test_nothing_is_said_about_sections_in_doubt() -> None:
    both = {"folds": {"k": 3}, "validation": {"fraction": 0.1}}
    assert keys_of_faults(frozenset({"folds"}), **both) == []
    assert keys_of_faults(frozenset({"data"}), features={"type": "as_given"}) == []
    assert keys_of_faults(frozenset({"model"}), model={"type": "naive_bayes"}, train={"max_epochs": 2}) == []


def test_one_standard_error_needs_folds_and_an_order_of_simplicity() -> None:
    select, by_c, folds = {"one_standard_error": True}, {"model.C": [0.1, 1.0]}, {"k": 3}
    assert keys_of_faults(select=select, grid=by_c, folds=folds) == []
    fault = ["select.one_standard_error"]
    assert keys_of_faults(select=select, grid=by_c, validation={"fraction": 0.1}) == fault
    assert keys_of_faults(select=select, grid=by_c, folds={"k": 3, "index": 1}) == fault
    assert keys_of_faults(select=select, grid={"model.average": [True, False]}, folds=folds) == fault
    assert keys_of_faults(select=select, grid={"model.type": ["mira", "naive_bayes"]}, folds=folds) == fault
    assert keys_of_faults(select=select, model={"type": "perceptron"}, folds=folds) == fault


def test_leave_one_out_has_no_macro_f1_to_choose_by() -> None:
    assert keys_of_faults(folds={"k": "all"}) == []
    assert keys_of_faults(folds={"k": "all"}, select={"metric": "macro_f1"}) == ["select.metric"]
    grouped = {"folds": {"k": "all", "grouped": True}, "data": {"train": "x.tsv", "group": "g"}}
    assert keys_of_faults(select={"metric": "macro_f1"}, **grouped) == []


def test_folds_without_a_refit_leave_no_final_model() -> None:
    assert keys_of_faults(folds={"k": 3}, select={"refit": False}) == ["select.refit"]
    assert keys_of_faults(folds={"k": 3, "index": 1}, select={"refit": False}) == []


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ({"k": "all", "repeats": 2}, "every repeat would be the same"),
        ({"k": "all", "index": 0}, "remove index"),
        ({"k": "some"}, "all"),
        ({"k": 3, "repeats": 2, "index": 6}, r"not a fold of k = 3 times 2 repeats"),
        ({"repeats": 0}, "greater than or equal to 1"),
    ],
)
def test_impossible_folds(folds: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FoldsOptions.model_validate(folds)
    assert FoldsOptions.model_validate({"k": 3, "repeats": 2, "index": 5}).index == 5


def test_nested_folds_need_cells_and_no_early_stopping() -> None:
    nested, by_c = {"k": 3, "inner": 2}, {"model.C": [0.1, 1.0]}
    assert keys_of_faults(folds=nested, grid=by_c) == []
    assert keys_of_faults(folds=nested) == ["folds.inner"]
    assert keys_of_faults(folds=nested, grid=by_c, train={"early_stopping": {}}) == ["train.early_stopping"]
    grid = {"train.early_stopping.patience": [2, 3]}
    assert keys_of_faults(folds=nested, grid=grid) == ["train.early_stopping"]
