"""o10: several labels a line given to a one-label model."""

from __future__ import annotations

from pathlib import Path

from tests.cli.drive import Gpuclf


def test_documents_with_two_labels_are_refused_by_line_and_setting(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.txt"
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", data={"train": file})).err
    for line in range(1, 7):
        assert (f"{file}:{line}: " in said) == (line in (2, 5))
    assert "data.several_labels: repeat" in said


def test_repeating_is_asked_for_and_a_label_given_twice_counts_once(gpuclf: Gpuclf, case: Path) -> None:
    config = gpuclf.config("naive_bayes", data={"train": case / "train.txt", "several_labels": "repeat"})
    _, output = gpuclf.train(config)
    assert "3 classes: art 2, past 3, war 3" in output.err
    assert "documents repeated for their other labels (data.several_labels: repeat): 2" in output.err
