"""o42: the first row is taken as a header, or the header as a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf, about_model, vocabulary


@pytest.mark.parametrize(
    "data",
    [
        {"train": "header.csv"},
        {"train": "header.csv", "header": True, "label": "label", "text": "text"},
        {"train": "label_last.csv"},
        {"train": "label_last.csv", "label": "label", "text": "text", "id": "id"},
        {"train": "noheader.csv", "header": False, "columns": ["label", "text"]},
        {"train": "noheader.csv", "header": False, "label": 0, "text": 1},
    ],
)
def test_three_documents_of_two_classes(gpuclf: Gpuclf, case: Path, data: dict[str, Any]) -> None:
    run, output = gpuclf.train(gpuclf.config("naive_bayes", data=data | {"train": case / data["train"]}))
    assert "3 records in" in output.err
    assert "2 classes: ham 2, spam 1" in output.err
    assert about_model(run)["classes"] == ["ham", "spam"]
    assert vocabulary(run) == ["cheap", "day", "fine", "good", "loans", "morning"]


def test_without_a_header_by_default_the_columns_are_asked_for(gpuclf: Gpuclf, case: Path) -> None:
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", data={"train": case / "noheader.csv"})).err
    assert "no column named 'label'; found: 'ham', 'good morning'" in said
    assert "data.header: false" in said
    assert "data.columns" in said


@pytest.mark.parametrize("data", [{"train": "label_last.csv"}, {"train": "header.csv"}])
def test_a_file_without_labels_is_read_by_name(gpuclf: Gpuclf, case: Path, data: dict[str, Any]) -> None:
    run = gpuclf.trained("naive_bayes", data=data | {"train": case / data["train"]})
    assert gpuclf.done("predict", run, case / "test_nolabel.csv").labels == ["ham", "spam"]
    said = gpuclf.refused("eval", run, case / "test_nolabel.csv").err
    assert "no column named 'label'" in said
