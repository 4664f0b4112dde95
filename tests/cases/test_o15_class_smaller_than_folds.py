"""o15: a class with fewer members than folds zeroes whole columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.drive import Gpuclf, metrics_of, table_of


def test_the_class_and_both_numbers_are_named(gpuclf: Gpuclf, case: Path, learner: dict[str, Any]) -> None:
    config = gpuclf.config(learner, data={"train": case / "train.txt"}, folds={"k": 3}, seed=1)
    said = gpuclf.not_trained(config).err
    assert "class 'c' has 1 document: fewer than 3 folds" in said
    assert "folds.allow_small" in said
    assert "folds.k" in said


def test_let_through_it_is_an_error_in_its_own_fold_and_nowhere_else(
    gpuclf: Gpuclf, case: Path, learner: dict[str, Any]
) -> None:
    config = gpuclf.config(learner, data={"train": case / "train.txt"}, folds={"k": 3, "allow_small": True}, seed=1)
    run, _ = gpuclf.train(config)
    header, *rows = table_of(run / "out_of_fold.tsv")
    assert header == ["id", "gold", "predicted", "a", "b", "c"]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 14)]
    for row in rows[:12]:
        assert row[1] == row[2], "documents of the large classes are all right"
    assert rows[12][1] == "c"
    assert rows[12][2] != "c"
    figures = metrics_of(run)["out_of_fold"]
    assert figures["documents"] == 13
    assert figures["accuracy"] == 12 / 13
    assert figures["per_class"]["c"]["recall"] == 0.0
