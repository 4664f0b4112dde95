"""o11: pipes, colons and times in name:value text."""

from __future__ import annotations

from pathlib import Path

from tests.cli.drive import Gpuclf, vocabulary


def test_lines_that_are_not_well_formed_are_refused_by_number(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.vw"
    config = gpuclf.config("naive_bayes", data={"train": file}, features={"type": "as_given"})
    errors = gpuclf.not_trained(config).errors
    named = {line for line in range(1, 10) if any(f"{file}:{line}: " in error for error in errors)}
    assert {1, 3, 4, 7, 8} <= named
    assert 6 not in named


def test_good_lines_train_and_predict(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained("naive_bayes", data={"train": case / "good.vw"}, features={"type": "as_given"})
    assert sorted(name.rpartition("^")[2] for name in vocabulary(run)) == [
        "cash",
        "day",
        "friend",
        "late",
    ]
    assert gpuclf.done("predict", run, stdin=b"|t cash\n|t day friend\n").labels == ["1", "-1"]
