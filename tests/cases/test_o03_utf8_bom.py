"""o03: a byte order mark glues itself to the first label, header or key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf, metrics_of, vocabulary

MARK = "\ufeff"


@pytest.mark.parametrize("name", ["train.csv", "quoted.csv", "train.txt", "train.tsv", "train.jsonl"])
def test_the_mark_belongs_to_nothing(gpuclf: Gpuclf, case: Path, name: str) -> None:
    file = case / name
    assert file.read_text(encoding="utf-8").startswith(MARK)
    run, output = gpuclf.train(gpuclf.config("naive_bayes", data={"train": file}, test={"file": file}))
    assert "2 classes: ham 1, spam 1" in output.err
    assert metrics_of(run)["test"]["accuracy"] == 1.0
    assert vocabulary(run) == ["cheap", "good", "loans", "morning"]
    assert MARK not in output.err
    labels = gpuclf.done("predict", run, file).labels
    assert labels == ["ham", "spam"]


def test_the_first_document_of_standard_input(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained("naive_bayes", data={"train": case / "train.txt"})
    output = gpuclf.done("predict", run, stdin=f"{MARK}loans\ngood\n".encode())
    assert output.lines == ["spam\t", "ham\t"]


def test_the_first_key_of_a_config(gpuclf: Gpuclf, case: Path) -> None:
    rest = f"data: {{train: {case / 'train.txt'}}}\nrun: {{tensorboard: false}}\n"
    config = gpuclf.text("marked.yaml", f"{MARK}seed: 7\nmodel: {{type: naive_bayes}}\n{rest}")
    run, _ = gpuclf.train(config)
    assert "\nseed: 7\n" in (run / "config.yaml").read_text(encoding="utf-8")
