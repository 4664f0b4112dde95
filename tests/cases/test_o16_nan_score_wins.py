"""o16: the candidate with score nan is chosen as the best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.models.linear.mira import MiraOptions
from gpuclf.models.train_options import TrainOptions
from tests.cli.drive import Gpuclf, metrics_of


class Diverging:
    """A learner whose loss becomes nan in the second step wherever C is beyond all measure."""

    def __init__(self, learner: Any):
        self._learner = learner
        self._steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)

    def step(self, problem: Any, state: Any) -> Any:
        self._steps += 1
        return self._learner.step(problem, state)

    def progress(self, problem: Any, state: Any) -> dict[str, Tensor]:
        figures = dict(self._learner.progress(problem, state))
        lost = (problem.replicas.options["model.C"] > 1e100) & (self._steps > 1)
        return figures | {"loss": torch.where(lost, torch.nan, 0.0)}


@pytest.fixture
def learning_that_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = MiraOptions.build

    def build(self: MiraOptions, train: TrainOptions, class_names: Sequence[str]) -> Diverging:
        return Diverging(sound(self, train, class_names))

    monkeypatch.setattr(MiraOptions, "build", build)


@pytest.mark.usefixtures("learning_that_diverges")
def test_the_failed_cell_is_listed_last_and_never_chosen(gpuclf: Gpuclf, case: Path) -> None:
    grid = {"model.C": [1e300, 0.1, 1e-300]}
    run, output = gpuclf.train(gpuclf.config("mira", data={"train": case / "train.txt"}, grid=grid, folds={"k": 2}))
    metrics = metrics_of(run)
    assert metrics["best"]["options"] == {"model.C": 0.1}
    failed = metrics["cells"][0]
    assert failed["options"] == {"model.C": 1e300}
    assert failed["mean"] == {}
    assert "failed" in failed
    table = [line for line in output.out.splitlines() if "±" in line or "failed:" in line]
    assert len(table) == 3
    assert "failed:" in table[-1]
    assert "1e+300" in table[-1]
    assert "best: C=0.1" in output.out
    assert "it is not a candidate" in output.err


@pytest.mark.usefixtures("learning_that_diverges")
def test_where_all_fail_nothing_is_saved(gpuclf: Gpuclf, case: Path) -> None:
    config = gpuclf.config("mira", data={"train": case / "train.txt"}, grid={"model.C": [1e300, 1e299]}, folds={"k": 2})
    run = gpuclf.folder / "run"
    output = gpuclf.refused("train", config, f"run.dir={run}")
    assert "all 2 cell(s) of the grid diverged" in output.errors[0]
    for name in ("model.safetensors", "model.json", "metrics.json"):
        assert not (run / name).exists()


@pytest.mark.usefixtures("learning_that_diverges")
def test_one_cell_without_folds_that_diverges_is_no_result(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.folder / "run"
    config = gpuclf.config({"type": "mira", "C": 1e300}, data={"train": case / "train.txt"})
    assert "diverged" in gpuclf.refused("train", config, f"run.dir={run}").err
    assert not (run / "model.safetensors").exists()


def test_ties_go_to_the_first_of_the_grid(gpuclf: Gpuclf, case: Path) -> None:
    grid = {"model.update_on": ["margin", "error"]}
    run, _ = gpuclf.train(gpuclf.config("mira", data={"train": case / "train.txt"}, grid=grid, folds={"k": 2}))
    metrics = metrics_of(run)
    assert metrics["cells"][0]["mean"]["accuracy"] == metrics["cells"][1]["mean"]["accuracy"] == 1.0
    assert metrics["best"]["cell"] == 0
