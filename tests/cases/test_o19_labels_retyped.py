"""o19: labels that look like numbers or truth values are changed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf, about_model, table_of


@pytest.mark.parametrize(("name", "count"), [("train.csv", 12), ("numeric.csv", 7), ("truth.csv", 4)])
def test_every_label_comes_back_as_it_was_written(
    gpuclf: Gpuclf, case: Path, name: str, count: int, last_weights: dict[str, Any]
) -> None:
    file = case / name
    with file.open(encoding="utf-8", newline="") as lines:
        labels = [row["label"] for row in csv.DictReader(lines)]
    run = gpuclf.trained(last_weights, data={"train": file}, test={"file": file})
    assert len(about_model(run)["classes"]) == count
    assert set(about_model(run)["classes"]) == set(labels)
    assert [row[1:3] for row in table_of(run / "predictions.tsv")[1:]] == [[label, label] for label in labels]
    assert gpuclf.done("predict", run, file).labels == labels
    records = gpuclf.done("predict", run, file, "--format", "jsonl").records
    assert [record["label"] for record in records] == labels
