"""o18: probability columns and signs follow the order of first appearance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf, about_model

ONE_AT_A_TIME = ("online_svm", "cw", "arow", "scw")  # learners that have no batches: the order of documents counts


def test_classes_are_sorted_and_every_number_bears_its_class(
    gpuclf: Gpuclf, case: Path, learner: dict[str, Any]
) -> None:
    sections: dict[str, Any] = {}
    if learner["type"] in ONE_AT_A_TIME:
        sections["train"] = {"max_epochs": 20}
    elif "max_epochs" in LEARNERS[learner["type"]].train_keys:
        sections["train"] = {"max_epochs": 20, "batch": 4}  # the whole file at once: order plays no part
    elif "tol" in LEARNERS[learner["type"]].model_fields:
        learner = learner | {"tol": 1e-13}  # so near the optimum that the way to it plays no part
    answers = []
    for name in ("first_neg.txt", "first_pos.txt"):
        run = gpuclf.trained(learner, data={"train": case / name}, **sections)
        assert about_model(run)["classes"] == ["-1", "1"]
        said = gpuclf.done("predict", run, case / "test.txt", "--input-format", "lines", "--format", "jsonl").records
        assert [record["label"] for record in said] == ["1", "-1"]
        assert all(set(record["scores"]) == {"-1", "1"} for record in said)
        answers.append([record["scores"] for record in said])
    for first, second in zip(*answers, strict=True):
        if learner["type"] in ONE_AT_A_TIME:
            assert {name: score > 0 for name, score in first.items()} == {n: s > 0 for n, s in second.items()}
            continue
        assert first == pytest.approx(second, rel=1e-5)


def test_tables_name_the_class_of_each_probability(gpuclf: Gpuclf, case: Path) -> None:
    for name in ("first_neg.txt", "first_pos.txt"):
        run = gpuclf.trained("naive_bayes", data={"train": case / name}, test={"file": case / "first_neg.txt"})
        first = gpuclf.done("predict", run, case / "test.txt", "--input-format", "lines", "--proba").lines[0]
        assert [field.partition("=")[0] for field in first.split("\t")[2:]] == ["-1", "1"]
        header = (run / "predictions.tsv").read_text(encoding="utf-8").split("\n")[0]
        assert header == "id\tgold\tpredicted\t-1\t1"
