"""o23: a tree as deep as the data is long. Numbers whose classes alternate: each split peels rows off one end."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpuclf.models.forest.anatomy import depths
from gpuclf.train.model_file import load_model
from tests.cli.drive import Gpuclf, metrics_of


@pytest.mark.parametrize("trees", [1, 8])
def test_a_chain_is_learnt_saved_and_predicted(gpuclf: Gpuclf, tmp_path: Path, trees: int) -> None:
    """Every value of the one input is a class change, so a tree that is pure is 600 levels deep or so."""
    rows = [f"{n}\t{n % 2}" for n in range(600)]
    file = gpuclf.text("train.tsv", "number\tlabel\n" + "\n".join(rows) + "\n")
    data = {"train": file, "format": "tsv", "numeric": ["number"]}
    model = {"type": "forest", "splits": "sorted", "n_estimators": trees}
    run = gpuclf.trained(model, data=data, features={"type": "categorical"}, test={"file": file})
    assert metrics_of(run)["test"]["accuracy"] == 1.0
    assert gpuclf.done("predict", run, file).labels == [str(n % 2) for n in range(600)]
    assert (run / "model.safetensors").stat().st_size < 100_000 * trees


@pytest.mark.parametrize("splits", ["composed", "binary"])
@pytest.mark.parametrize("trees", [1, 8])
def test_a_feature_for_every_row_and_a_row_without_any(gpuclf: Gpuclf, trees: int, splits: str) -> None:
    """The case's file, shorter: no split peels off more than a row, and the classes alternate."""
    rows = 200
    lines = [f"{1 + n % 2} {n + 1}:1" for n in range(rows)] + ["1"]
    file = gpuclf.text("train.svm", "\n".join(lines) + "\n")
    model = {"type": "forest", "splits": splits, "n_estimators": trees}
    run = gpuclf.trained(model, data={"train": file}, features={"type": "as_given"}, test={"file": file})
    assert metrics_of(run)["test"]["accuracy"] == 1.0
    assert gpuclf.done("predict", run, file).labels == [line[0] for line in lines]
    forest = load_model(run, torch.device("cpu")).predictor
    assert int(depths(forest).min()) >= rows // 2, "each split peels off one row"  # type: ignore[arg-type]
    assert metrics_of(run)["forest"]["depth"]["most"] == int(depths(forest).max())  # type: ignore[arg-type]
    assert (run / "model.safetensors").stat().st_size < 100_000 * trees
