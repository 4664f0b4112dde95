"""o07: one-character words are thrown away without being asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.drive import Gpuclf, vocabulary


def test_every_one_letter_word_is_a_feature(gpuclf: Gpuclf, case: Path, learner: dict[str, Any]) -> None:
    run = gpuclf.trained(learner, data={"train": case / "train.txt"})
    assert set(vocabulary(run)) == {"i", "want", "c", "d", "gave", "a", "6", "7", "有", "没", "的"}
    assert gpuclf.done("predict", run, stdin="有\n没\n".encode()).labels == ["yes", "no"]


def test_a_file_of_digits_trains(gpuclf: Gpuclf, case: Path, learner: dict[str, Any]) -> None:
    run = gpuclf.trained(learner, data={"train": case / "codes.txt"})
    assert vocabulary(run) == ["5", "6", "7", "8"]
    assert gpuclf.done("predict", run, stdin=b"5 6\n8\n").labels == ["a", "b"]
