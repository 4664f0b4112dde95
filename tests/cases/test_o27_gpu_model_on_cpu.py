"""o27: a model trained on a GPU cannot be opened on a laptop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from tests.cli.drive import Gpuclf

TEXTS = b"hello you\ncash\n\n"


def train(gpuclf: Gpuclf, learner: dict[str, Any], device: str) -> Path:
    data = {"train": Path(__file__).parent / "data" / "o08" / "train.txt"}
    return gpuclf.trained(learner, data=data, device=device)


def test_the_model_files_hold_no_device(gpuclf: Gpuclf, learner: dict[str, Any]) -> None:
    run = train(gpuclf, learner, "cpu")
    with safe_open(run / "model.safetensors", framework="pt") as opened:
        assert not opened.metadata()
    for name in ("model.json", "model.safetensors"):
        content = (run / name).read_bytes()
        assert b"cuda" not in content
        assert b"cpu" not in content
        assert b"device" not in content
        assert str(gpuclf.folder).encode() not in content


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_that_is_not_there_is_refused_with_the_setting(gpuclf: Gpuclf) -> None:
    data = {"train": Path(__file__).parent / "data" / "o08" / "train.txt"}
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", data=data, device="cuda")).err
    assert "no CUDA device" in said
    assert "device: cpu" in said
    run = train(gpuclf, {"type": "naive_bayes"}, "auto")
    assert "no CUDA device" in gpuclf.refused("predict", run, "--device", "cuda:0", stdin=TEXTS).err


@pytest.mark.cuda
def test_trained_there_and_opened_here(gpuclf: Gpuclf, learner: dict[str, Any]) -> None:
    scores = {}
    for trained in ("cpu", "cuda"):
        run = train(gpuclf, learner, trained)
        for used in ("cpu", "cuda"):
            records = gpuclf.done("predict", run, "--device", used, "--format", "jsonl", stdin=TEXTS).records
            scores[trained, used] = [record["scores"] for record in records]
    for other in scores.values():
        for first, second in zip(scores["cpu", "cpu"], other, strict=True):
            assert second == pytest.approx(first, rel=1e-5, abs=1e-5)
