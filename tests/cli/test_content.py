"""A content model as a user meets it: trained in folds, watched, shown, stopped and resumed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gpuclf.train import run_context
from tests.cli.drive import Gpuclf
from tests.cli.test_reviews import corpus, written

OPTIONS = "topics: 2, em_iterations: 4, joint_iterations: 3, crf_steps: 2"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    written(tmp_path / "train.jsonl", corpus(24))
    written(tmp_path / "test.jsonl", corpus(8, 24))
    written(
        tmp_path / "more.jsonl", [{"review": f"m{n}", "sentences": r["sentences"]} for n, r in enumerate(corpus(6))]
    )
    path = tmp_path / "content.yaml"
    path.write_text(
        "data: {train: train.jsonl, format: reviews, unlabelled: [more.jsonl]}\n"
        f"model: {{type: content, {OPTIONS}}}\n"
        "grid: {model.C: [0.1, 10.0]}\n"
        "folds: {k: 2}\n"
        "test: {file: test.jsonl}\n"
        "train: {evaluate_every: 1, checkpoint_every: 1}\n"
        "device: cpu\n"
    )
    return path


def test_from_training_to_topics(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    gpuclf.done("train", config, f"run.dir={run}")
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["test"]["aspect_f1"] > 0.9
    assert {"f1_food", "f1_service"} <= set(metrics["cells"][0]["mean"])
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert all("held_out" not in row for row in rows if row["step"] <= 4)
    assert all("held_out" in row for row in rows if row["step"] > 4 and row["phase"] == "grid")
    refit = [row for row in rows if row["phase"] == "refit"]
    assert [row["joint_objective"] for row in refit[4:]] == sorted(row["joint_objective"] for row in refit[4:])
    assert len(refit[0]["topics"]) == 2
    log = EventAccumulator(str(run))
    log.Reload()
    assert len(log.Tensors("refit/topics")) == len(refit) == 7
    assert {"refit/topic_moves", "pictures/topic_moves"} <= set(log.Tags()["images"])
    shown = gpuclf.done("show", run).out
    assert "Topics by the words" in shown
    assert "word[0]=" in shown
    page = (run / "report.html").read_text()
    assert 'id="topics"' in page


def test_a_stopped_run_goes_on_to_the_same_model(
    gpuclf: Gpuclf, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    gpuclf.done("train", config, f"run.dir={whole}", "run.tensorboard=false")
    steps = run_context.step_rows
    calls: list[int] = []

    def interrupted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) in (3, 9):
            raise KeyboardInterrupt
        return steps(*given, **named)

    monkeypatch.setattr(run_context, "step_rows", interrupted)
    assert gpuclf("train", config, f"run.dir={parts}", "run.tensorboard=false").code == 130
    assert gpuclf("resume", parts).code == 130
    gpuclf.done("resume", parts)
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_penalty_for_a_label_that_is_not_there_is_refused(gpuclf: Gpuclf, config: Path) -> None:
    fault = gpuclf("train", config, "+model.none_label=nothing", "~folds", "~grid")
    assert fault.code == 2
    assert "no label is 'nothing'" in fault.err
