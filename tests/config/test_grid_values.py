"""The `grid` section: keys that exist and may vary, elements that are values of their options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuclf.config import LoadedConfig
from gpuclf.faults import UserFault

Load = Callable[..., LoadedConfig]
Faults = Callable[..., list[UserFault]]

HEAD = "model: {type: mira}\nfolds: {k: 3}\n"


def test_elements_are_converted_like_the_option_itself(load_text: Load) -> None:
    grid = load_text(
        HEAD
        + "grid: {model.C: [1, 1e-3, inf], train.max_epochs: [1e1, 20], model.average: [true, false], seed: [1, 2.0]}\n"
    ).grid
    assert repr(grid) == repr(
        {
            "model.C": [1, 0.001, float("inf")],
            "train.max_epochs": [10, 20],
            "model.average": [True, False],
            "seed": [1, 2],
        }
    )


@pytest.mark.parametrize(
    ("line", "key", "said"),
    [
        ("model.C: [0.1, -1]", "grid.model.C[1]", "-1 is out of range; wanted: a number above 0"),
        ("model.C: [0.1, '1']", "grid.model.C[1]", "'1' is a text because of its quotes"),
        ("model.C: [x]", "grid.model.C[0]", "'x' is a text"),
        ("model.C: [1, 2, 1.0]", "grid.model.C[2]", "stands in the list already, as element 0"),
        ("model.C: 1", "grid.model.C", "write model.C: [1]"),
        ("model.C: []", "grid.model.C", "the list is empty"),
        ("model.c: [1]", "grid.model.c", "did you mean model.C?"),
        ("C: [1]", "grid.C", "did you mean model.C?"),
        ("modle.C: [1]", "grid.modle.C", "did you mean model?"),
        ("model.alpha: [1]", "grid.model.alpha", "does not apply to model.type mira; it is an option of naive_bayes"),
        ("model: {C: [1]}", "grid.model", "list its options: model.NAME"),
        ("folds.k: [3, 5]", "grid.folds.k", "the same for a whole experiment"),
        ("device: [cpu]", "grid.device", "the same for a whole experiment"),
        ("train.threads: [1, 2]", "grid.train.threads", "the same for a whole experiment"),
        ("seed: [1, -1]", "grid.seed[1]", "out of range"),
        ("features.ngrams: [[1, 1], [2, 1]]", "grid.features.ngrams[1]", "no range of lengths"),
        ("model.type: [mira, mirra]", "grid.model.type[1]", "did you mean mira?"),
        ("train.early_stopping.patience: [0]", "grid.train.early_stopping.patience[0]", "of at least 1"),
    ],
)
def test_faults(faults_in: Faults, line: str, key: str, said: str) -> None:
    (fault,) = faults_in(f"{HEAD}grid:\n  {line}\n")
    assert (fault.key, fault.line) == (key, 4)
    assert said in str(fault)


def test_every_bad_element_is_named(faults_in: Faults) -> None:
    faults = faults_in(HEAD + "grid:\n  model.C:\n    - -1\n    - 1\n    - x\n  train.batch: [0]\n")
    assert [(fault.key, fault.line) for fault in faults] == [
        ("grid.model.C[0]", 5),
        ("grid.model.C[2]", 7),
        ("grid.train.batch[0]", 8),
    ]


def test_nothing_to_choose_by(faults_in: Faults, load_text: Load) -> None:
    (fault,) = faults_in("model: {type: mira}\ngrid: {model.C: [1, 2]}\n")
    assert fault.key == "grid"
    assert "nothing to choose the best by" in fault.message
    assert load_text("model: {type: mira}\ngrid: {seed: [0, 1, 2]}\n").grid == {"seed": [0, 1, 2]}
    assert load_text("model: {type: mira}\ngrid: {model.C: [2]}\n").grid == {"model.C": [2]}


def test_options_of_the_grid_must_exist_for_every_model_of_the_grid(faults_in: Faults, load_text: Load) -> None:
    text = HEAD + "grid: {model.type: [mira, perceptron], model.average: [true, false]}\n"
    assert load_text(text).grid["model.average"] == [True, False]
    (fault,) = faults_in(HEAD + "grid: {model.type: [mira, perceptron], model.C: [1, 2]}\n")
    assert fault.key == "grid.model.C"
    assert "does not apply to model.type perceptron" in fault.message


def test_a_written_option_that_one_model_of_the_grid_lacks(faults_in: Faults) -> None:
    (fault,) = faults_in("model: {type: mira, C: 1}\nfolds: {k: 3}\ngrid: {model.type: [mira, perceptron]}\n")
    assert fault.key == "grid.model.type[1]"
    assert "model.C: does not apply to model.type perceptron" in fault.message


def test_train_keys_serve_any_model_of_the_grid(load_text: Load) -> None:
    text = HEAD + "grid: {model.type: [mira, naive_bayes]}\ntrain: {max_epochs: 3}\n"
    assert load_text(text).options.train.max_epochs == 3


def test_paths_in_the_grid_are_absolute(load_text: Load, tmp_path: Path) -> None:
    assert load_text(HEAD + "grid: {model.cost: [null, costs.tsv]}\n").grid["model.cost"] == [
        None,
        str(tmp_path / "costs.tsv"),
    ]


def test_a_grid_beyond_reason(faults_in: Faults) -> None:
    axis = list(range(1, 400))
    (fault,) = faults_in(f"{HEAD}grid: {{train.max_epochs: {axis}, train.batch: {axis}}}\n")
    assert fault.key == "grid"
    assert "159201 cells" in fault.message


def test_a_grid_value_wins_over_the_section(load_text: Load) -> None:
    assert load_text("model: {type: mira, C: 5}\nfolds: {k: 2}\ngrid: {model.C: [1, 2]}\n").grid["model.C"] == [1, 2]


def test_null_is_no_grid(load_text: Load) -> None:
    assert load_text(HEAD + "grid:\n").grid == {}
    assert load_text(HEAD + "grid: {model.C: [1, 2]}\n", "~grid.model.C", "grid.seed=[3,4]").grid == {"seed": [3, 4]}


def test_texts_of_the_grid_are_plain(load_text: Load) -> None:
    grid = load_text(HEAD + "grid: {features.stop_words: [[a, b], []], model.update_on: [error, margin]}\n").grid
    assert grid == {"features.stop_words": [["a", "b"], []], "model.update_on": ["error", "margin"]}
    texts = [*grid["features.stop_words"][0], *grid["model.update_on"]]
    assert {type(text) for text in texts} == {str}
