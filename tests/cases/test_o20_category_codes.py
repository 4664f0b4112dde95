"""o20: category codes made anew for the new file (every learner on a table, and forests of codes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf


@pytest.mark.usefixtures("weighing")
def test_columns_and_categories_are_found_by_name(gpuclf: Gpuclf, case: Path, last_weights: dict[str, Any]) -> None:
    data = {"train": case / "train.csv", "categorical": ["country", "size"]}
    run = gpuclf.trained(last_weights, data=data, features={"type": "table"})
    assert gpuclf.done("predict", run, case / "deploy.csv").labels == ["n", "n", "y", "n"]
    assert gpuclf.done("predict", run, case / "swapped_columns.csv").labels == ["n", "y"]
    _refuses(gpuclf, run, case)


@pytest.mark.parametrize("splits", ["composed", "sorted", "binary"])
def test_a_forest_of_codes_finds_columns_and_categories_by_name(gpuclf: Gpuclf, case: Path, splits: str) -> None:
    """Columns in another order give the same model; a file's own coding of categories never matters."""
    runs = []
    for columns in (["country", "size"], ["size", "country"]):
        data = {"train": case / "train.csv", "categorical": columns}
        model = {"type": "forest", "n_estimators": 16, "splits": splits}
        runs.append(gpuclf.trained(model, data=data, features={"type": "categorical"}))
    for run in runs:
        assert gpuclf.done("predict", run, case / "deploy.csv").labels == ["n", "n", "y", "n"]
        assert gpuclf.done("predict", run, case / "swapped_columns.csv").labels == ["n", "y"]
        _refuses(gpuclf, run, case)
    assert (runs[0] / "model.safetensors").read_bytes() == (runs[1] / "model.safetensors").read_bytes()


def _refuses(gpuclf: Gpuclf, run: Path, case: Path) -> None:
    said = gpuclf.refused("predict", run, case / "missing_column.csv").err
    assert "missing_column.csv" in said
    assert "'size'" in said
