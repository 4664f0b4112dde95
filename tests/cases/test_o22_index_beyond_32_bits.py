"""o22: feature indices beyond 2^31 wrap round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.drive import Gpuclf, metrics_of, vocabulary

INDICES = ["1", "2147483647", "2147483648", "4294967297", "9007199254740993"]


def test_all_indices_stay_apart(gpuclf: Gpuclf, case: Path, weighing: dict[str, Any]) -> None:
    data = {"train": case / "train.svm"}
    run = gpuclf.trained(weighing, data=data, features={"type": "as_given"}, test={"file": case / "test.svm"})
    assert sorted(vocabulary(run), key=int) == INDICES
    assert gpuclf.done("predict", run, case / "test.svm").labels == ["1", "2"]
    assert metrics_of(run)["test"]["accuracy"] == 1.0
    assert (run / "model.safetensors").stat().st_size < 50_000, "memory follows the entries, not the width"


def test_hashing_into_2_to_the_40_buckets(gpuclf: Gpuclf, case: Path, weighing: dict[str, Any]) -> None:
    features = {"type": "bag_of_words", "hashing": {"bits": 40}}
    run = gpuclf.trained(weighing, data={"train": case / "texts.txt"}, features=features)
    assert gpuclf.done("predict", run, stdin=b"alpha gamma\ndelta theta\n").labels == ["a", "b"]
    assert (run / "model.safetensors").stat().st_size < 50_000
