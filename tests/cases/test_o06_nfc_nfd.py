"""o06: the same accented word typed on two systems is two features."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

from tests.cli.drive import Gpuclf, about_model, vocabulary


def test_both_normal_forms_are_answered_alike(gpuclf: Gpuclf, case: Path, learner: dict[str, Any]) -> None:
    run = gpuclf.trained(learner, data={"train": case / "train.txt"})
    said = [
        gpuclf.done("predict", run, case / name, "--input-format", "lines", "--format", "jsonl").records
        for name in ("nfc.txt", "nfd.txt")
    ]
    assert said[0] == said[1]
    assert [record["label"] for record in said[0]] == ["fr", "vi"]
    assert all(record["known"] for record in said[0])


def test_the_model_says_which_form_it_uses(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained("naive_bayes", data={"train": case / "train.txt"})
    assert about_model(run)["features"]["normalize"] == "NFC"
    assert not any(unicodedata.combining(name[0]) for name in vocabulary(run))
