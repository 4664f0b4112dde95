"""Ctrl-C and SIGTERM: a checkpoint, exit 130 or 143, and the resumed run has the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.resume.commands import Commands, assert_same_run, checkpoints, log_rows, write_config, write_data

STEP = "gpuclf.train.run_context.step_rows"
SLOW_CHECKPOINTS: dict[str, Any] = {  # so that the signal alone brings one about
    "train": {"checkpoint_every": None},
    "calibrate": "platt",
}
BAYES: dict[str, Any] = {
    "model": {"type": "naive_bayes"},
    "grid": {"model.alpha": [0.1, 1.0]},
    "train": None,
    "calibrate": "isotonic",
}


@pytest.fixture(scope="module", params=["mira", "naive_bayes"])
def sections(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SLOW_CHECKPOINTS if request.param == "mira" else BAYES


@pytest.fixture(scope="module")
def reference(commands: Commands, tmp_path_factory: pytest.TempPathFactory, sections: dict[str, Any]) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_data(folder)
    write_config(folder, **sections)
    answer = commands.run(folder, "train", "run.yaml", "run.dir=run")
    assert answer.code == 0, answer.err
    return folder / "run"


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize("step", [1, 2])
def test_within_the_loop(
    name: str, code: int, step: int, sections: dict[str, Any], commands: Commands, reference: Path, tmp_path: Path
) -> None:
    """For Naive Bayes these are the only step of the grid and that of the refit: nothing is lost at either."""
    write_data(tmp_path)
    write_config(tmp_path, **sections)
    answer = commands.run(
        tmp_path, "train", "run.yaml", "run.dir=run", hook={"target": STEP, "call": step, "signals": [name]}
    )
    assert answer.code == code, answer.err
    assert f"stopped by {name}" in answer.err
    assert len(checkpoints(tmp_path / "run")) == 1
    done = len(log_rows(tmp_path / "run"))
    answer = commands.run(
        tmp_path, "resume", "run", hook={"target": "gpuclf.report.metrics_log.MetricsLog", "call": 1000}
    )
    assert answer.code == 0, answer.err
    assert "beginning" not in answer.err
    assert done > 0
    assert_same_run(tmp_path / "run", reference)


OUTSIDE = {
    "before the refit": "gpuclf.train.experiment.train_final",
    "after the refit": "gpuclf.train.experiment.save_model",
    "in the test": "gpuclf.train.experiment.read_labelled",
}


@pytest.mark.parametrize("where", OUTSIDE)
def test_between_the_loops(
    where: str, sections: dict[str, Any], commands: Commands, reference: Path, tmp_path: Path
) -> None:
    """Ends at once, but first writes down what was trained."""
    write_data(tmp_path)
    write_config(tmp_path, **sections)
    hook = {"target": OUTSIDE[where], "signals": ["SIGTERM"]}
    answer = commands.run(tmp_path, "train", "run.yaml", "run.dir=run", hook=hook)
    assert answer.code == 143, answer.err
    assert len(checkpoints(tmp_path / "run")) == 1
    rows = len(log_rows(tmp_path / "run"))
    answer = commands.run(tmp_path, "resume", "run", hook={"target": STEP, "signals": ["SIGKILL"]})
    if where == "before the refit":
        assert answer.code == -9, "the refit is still to be done"
        answer = commands.run(tmp_path, "resume", "run")
    assert answer.code == 0, answer.err  # no step was made again
    assert rows <= len(log_rows(tmp_path / "run"))
    assert_same_run(tmp_path / "run", reference)


def test_while_reading_it_ends_at_once(commands: Commands, tmp_path: Path) -> None:
    write_data(tmp_path)
    write_config(tmp_path)
    hook = {"target": "gpuclf.train.corpus.class_order", "signals": ["SIGTERM"]}
    answer = commands.run(tmp_path, "train", "run.yaml", "run.dir=run", hook=hook)
    assert answer.code == 143, answer.err
    assert not checkpoints(tmp_path / "run")
    assert "Traceback" not in answer.err
    answer = commands.run(tmp_path, "resume", "run")
    assert answer.code == 0, answer.err
    assert "starts from the beginning" in answer.err


def test_a_second_interrupt_does_not_wait_for_the_step(commands: Commands, tmp_path: Path) -> None:
    write_data(tmp_path)
    write_config(tmp_path, **SLOW_CHECKPOINTS)
    hook = {"target": STEP, "call": 2, "signals": ["SIGINT", "SIGINT"]}
    answer = commands.run(tmp_path, "train", "run.yaml", "run.dir=run", hook=hook)
    assert answer.code == 130
    assert not checkpoints(tmp_path / "run")
    assert "Traceback" not in answer.err


def test_an_interrupted_prediction_is_quiet(commands: Commands, tmp_path: Path) -> None:
    write_data(tmp_path)
    write_config(tmp_path, folds=None, grid=None)
    assert commands.run(tmp_path, "train", "run.yaml", "run.dir=run").code == 0
    hook = {"target": "gpuclf.report.predict_command.prediction_lines", "signals": ["SIGINT"]}
    answer = commands.run(tmp_path, "predict", "run", "test.tsv", hook=hook)
    assert answer.code == 130
    assert "Traceback" not in answer.err
