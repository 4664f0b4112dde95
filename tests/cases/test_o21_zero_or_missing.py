"""o21: a zero that is written and a zero that is left out give different predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.drive import Gpuclf


def test_written_and_left_out_zeros_are_one_thing(gpuclf: Gpuclf, case: Path, learner: dict[str, Any]) -> None:
    sections = {"features": {"type": "as_given"}}
    run = gpuclf.trained(learner, data={"train": case / "train.svm"}, **sections)
    said = [
        gpuclf.done("predict", run, case / name, "--format", "jsonl").records
        for name in ("implicit.svm", "explicit.svm")
    ]
    assert [record["label"] for record in said[0]] == ["1", "2"]
    assert [record["scores"] for record in said[0]] == [record["scores"] for record in said[1]]
    stripped = gpuclf.trained(learner, data={"train": case / "stripped.svm"}, **sections)
    for name in ("model.safetensors", "model.json"):
        assert (run / name).read_bytes() == (stripped / name).read_bytes()


def test_a_dense_table_of_the_same_numbers_gives_the_same_scores(
    gpuclf: Gpuclf, case: Path, learner: dict[str, Any]
) -> None:
    sparse = gpuclf.trained(learner, data={"train": case / "train.svm"}, features={"type": "as_given"})
    data = {"train": case / "train.csv", "numeric": ["f1", "f2", "f3"]}
    dense = gpuclf.trained(learner, data=data, features={"type": "table"})
    scores = [
        [record["scores"] for record in gpuclf.done("predict", run, file, "--format", "jsonl").records]
        for run, file in ((sparse, case / "implicit.svm"), (dense, case / "dense.csv"))
    ]
    assert scores[0] == scores[1]
