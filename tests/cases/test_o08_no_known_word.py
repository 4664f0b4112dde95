"""o08: a document with no known word: crash, empty answer, or a made-up class."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf


def test_an_unknown_text_is_answered_like_an_empty_one_and_says_so(
    gpuclf: Gpuclf, case: Path, learner: dict[str, Any]
) -> None:
    run = gpuclf.trained(learner, data={"train": case / "train.txt"})
    file = gpuclf.done("predict", run, case / "predict.txt", "--input-format", "lines", "--format", "jsonl").records
    stream = gpuclf.done("predict", run, "--format", "jsonl", stdin=(case / "predict.txt").read_bytes()).records
    assert file == stream
    assert file[0]["label"] == file[1]["label"]
    assert file[0]["scores"] == file[1]["scores"]
    assert [record["known"] for record in file] == [False, False, True]
    assert file[0]["remark"] == "no_known_feature"
    assert all(math.isfinite(score) for record in file for score in record["scores"].values())
    lines = gpuclf.done("predict", run, case / "predict.txt", "--input-format", "lines").lines
    assert lines == [f"{file[0]['label']}\tno_known_feature"] * 2 + [f"{file[2]['label']}\t"]


def test_naive_bayes_answers_with_the_prior(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained({"type": "naive_bayes", "alpha": 0.1}, data={"train": case / "train.txt"})
    first, second, third = gpuclf.done(
        "predict", run, case / "predict.txt", "--input-format", "lines", "--proba", "--format", "jsonl"
    ).records
    assert first["label"] == second["label"] == "ham"
    assert first["probabilities"] == second["probabilities"] == pytest.approx({"ham": 0.75, "spam": 0.25})
    assert third["label"] == "spam"


@pytest.mark.parametrize(
    "name", [name for name, kind in LEARNERS.items() if kind.task == "classify" and not kind.probabilities]
)
def test_a_known_word_decides_where_there_is_one(gpuclf: Gpuclf, case: Path, name: str) -> None:
    run = gpuclf.trained(name, data={"train": case / "train.txt"})
    assert gpuclf.done("predict", run, case / "predict.txt", "--input-format", "lines").labels[2] == "spam"
