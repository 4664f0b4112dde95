"""o20: category codes made anew for the new file (naive Bayes and the online learners; forests come later)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.drive import Gpuclf


def test_columns_and_categories_are_found_by_name(gpuclf: Gpuclf, case: Path, last_weights: dict[str, Any]) -> None:
    data = {"train": case / "train.csv", "categorical": ["country", "size"]}
    run = gpuclf.trained(last_weights, data=data, features={"type": "table"})
    assert gpuclf.done("predict", run, case / "deploy.csv").labels == ["n", "n", "y", "n"]
    assert gpuclf.done("predict", run, case / "swapped_columns.csv").labels == ["n", "y"]
    said = gpuclf.refused("predict", run, case / "missing_column.csv").err
    assert "missing_column.csv" in said
    assert "'size'" in said
