"""o21: a zero that is written and a zero that is left out give different predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf


def test_written_and_left_out_zeros_are_one_thing(gpuclf: Gpuclf, case: Path, weighing: dict[str, Any]) -> None:
    sections = {"features": {"type": "as_given"}}
    run = gpuclf.trained(weighing, data={"train": case / "train.svm"}, **sections)
    said = [
        gpuclf.done("predict", run, case / name, "--format", "jsonl").records
        for name in ("implicit.svm", "explicit.svm")
    ]
    assert [record["label"] for record in said[0]] == ["1", "2"]
    assert [record["scores"] for record in said[0]] == [record["scores"] for record in said[1]]
    stripped = gpuclf.trained(weighing, data={"train": case / "stripped.svm"}, **sections)
    for name in ("model.safetensors", "model.json"):
        assert (run / name).read_bytes() == (stripped / name).read_bytes()


@pytest.mark.parametrize("more", [{"splits": "sorted"}, {"splits": "binary"}, {"boosting": True}], ids=str)
def test_forests_of_every_kind(gpuclf: Gpuclf, case: Path, more: dict[str, Any]) -> None:
    """A bag's feature is there or not for them: a written zero is not there."""
    model = {"type": "forest", "n_estimators": 12, **more}
    if "boosting" in more:
        model |= {"min_child_weight": 0.01, "min_category_rows": 1, "l2": 0.1}
    test_written_and_left_out_zeros_are_one_thing(gpuclf, case, model)
    test_a_dense_table_of_the_same_numbers_gives_the_same_scores(gpuclf, case, model)


def test_a_dense_table_of_the_same_numbers_gives_the_same_scores(
    gpuclf: Gpuclf, case: Path, weighing: dict[str, Any]
) -> None:
    if weighing["type"] == "feedforward":
        pytest.skip("its first weights are drawn by the features' names, and the table's are others")
    sparse = gpuclf.trained(weighing, data={"train": case / "train.svm"}, features={"type": "as_given"})
    data = {"train": case / "train.csv", "numeric": ["f1", "f2", "f3"]}
    dense = gpuclf.trained(weighing, data=data, features={"type": "table"})
    scores = [
        [record["scores"] for record in gpuclf.done("predict", run, file, "--format", "jsonl").records]
        for run, file in ((sparse, case / "implicit.svm"), (dense, case / "dense.csv"))
    ]
    assert scores[0] == scores[1]
