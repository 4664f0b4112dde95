"""Missing numbers from the file to the answer: trained, saved, shown, predicted; refused where nothing reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cli.drive import Gpuclf, about_model


def table(seed: int = 0) -> str:
    """A class that hangs on whether a number is there, and on its size."""
    draw = np.random.default_rng(seed)
    lines = ["label,size,kind"]
    for number in draw.normal(size=240):
        gap = draw.random() < 0.3
        lines.append(f"{'gone' if gap else 'high' if number > 0.2 else 'low'},{'' if gap else f'{number:.4f}'},x")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "model",
    [{"n_bins": 32}, {"splits": "sorted", "n_bins": 32}, {"boosting": True, "n_bins": 32, "min_child_weight": 0.1}],
    ids=["composed", "sorted", "boosting"],
)
def test_a_forest_is_trained_saved_and_shown_with_missing_numbers(gpuclf: Gpuclf, model: dict[str, Any]) -> None:
    """Features of type categorical take them without being asked; what is saved predicts them, nan included."""
    data = {"train": gpuclf.text("train.csv", table()), "numeric": ["size"], "categorical": ["kind"]}
    forest = {"type": "forest", "n_estimators": 16, **model}
    run = gpuclf.trained(forest, data=data, features={"type": "categorical"}, folds={"k": 3})
    assert about_model(run)["encoder"]["numbers"]["size"]
    new = gpuclf.text("new.csv", "kind,size\nx,\nx,-3\nx,900\nx,nan\n")
    assert gpuclf.done("predict", run, new).labels == ["gone", "low", "high", "gone"]
    if "boosting" not in model:
        assert "size missing" in gpuclf.done("show", run).out or "or missing" in gpuclf.done("show", run).out


def test_other_features_refuse_missing_numbers(gpuclf: Gpuclf) -> None:
    data = {"train": gpuclf.text("train.csv", table()), "numeric": ["size"], "categorical": ["kind"]}
    config = gpuclf.config("logistic", data=data, features={"type": "table"})
    assert "'size' is empty where a number belongs" in gpuclf.not_trained(config).err
    assert "data.missing_numbers" in gpuclf.not_trained(config, "data.missing_numbers=keep").err
    forest = gpuclf.config("forest", "forest.yaml", data=data, features={"type": "categorical"})
    assert "'size' is empty" in gpuclf.not_trained(forest, "data.missing_numbers=refuse").err
