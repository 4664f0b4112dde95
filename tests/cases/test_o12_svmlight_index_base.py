"""o12: is the first feature 0 or 1? The guess differs between training and test file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf, about_model, metrics_of, vocabulary


def test_later_files_are_read_by_the_base_of_the_training_file(
    gpuclf: Gpuclf, case: Path, weighing: dict[str, Any]
) -> None:
    config = gpuclf.config(
        weighing, data={"train": case / "train.svm"}, features={"type": "as_given"}, test={"file": case / "test.svm"}
    )
    run, output = gpuclf.train(config)
    assert "from 0" in output.err, "the guess is printed"
    assert metrics_of(run)["test"]["accuracy"] == 1.0
    assert about_model(run)["index_base"] == 0
    assert gpuclf.done("predict", run, case / "test.svm").labels == ["1", "2", "2", "3"]
    figures = gpuclf.done("eval", run, case / "test.svm")
    assert "accuracy 1.0000" in figures.out


@pytest.mark.parametrize(("given", "base"), [("auto", 1), (1, 1), (0, 0)])
def test_a_file_without_index_zero(gpuclf: Gpuclf, case: Path, given: Any, base: int) -> None:
    data = {"train": case / "train1.svm", "index_base": given}
    run = gpuclf.trained("naive_bayes", data=data, features={"type": "as_given"})
    assert about_model(run)["index_base"] == base
    assert vocabulary(run) == ["1", "2", "3", "4"]


def test_index_zero_in_a_later_file_of_base_one_is_refused(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained("naive_bayes", data={"train": case / "train1.svm"}, features={"type": "as_given"})
    said = gpuclf.refused("eval", run, case / "train.svm").err
    assert f"{case / 'train.svm'}:1: " in said
