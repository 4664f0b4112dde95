"""o13: very large, infinite and not-a-number feature values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf


def test_values_that_float32_cannot_hold_are_refused_by_line_and_feature(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.svm"
    errors = gpuclf.not_trained(gpuclf.config("perceptron", data={"train": file}, features={"type": "as_given"})).errors
    for line, feature in ((3, "3"), (4, "3"), (5, "2"), (6, "2"), (7, "1")):
        (error,) = [error for error in errors if f"{file}:{line}: " in error]
        assert feature in error.partition(f":{line}: ")[2]


def test_the_largest_values_finish_or_are_refused_but_no_model_of_nan_is_saved(
    gpuclf: Gpuclf, case: Path, weighing: dict[str, Any]
) -> None:
    config = gpuclf.config(weighing, data={"train": case / "ok.svm"}, features={"type": "as_given"})
    run = gpuclf.folder / "run"
    output = gpuclf("train", config, f"run.dir={run}")
    if output.code == 0:
        numbers = load_file(run / "model.safetensors")
        assert all(bool(torch.isfinite(tensor).all()) for tensor in numbers.values())
    else:
        assert output.code == 2
        assert len(output.errors) == 1
        assert not (run / "model.safetensors").exists()
        assert not (run / "model.json").exists()
        naive = not LEARNERS[weighing["type"]].train_keys
        assert ("negative" if naive else "norm: l2") in output.err
