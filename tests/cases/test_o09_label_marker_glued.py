"""o09: labels that are not recognised: training works with no label."""

from __future__ import annotations

from pathlib import Path

from tests.cli.drive import Gpuclf, about_model, metrics_of


def test_every_doubtful_line_is_listed_with_its_reason(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.txt"
    errors = gpuclf.not_trained(gpuclf.config("naive_bayes", data={"train": file})).errors
    named = [line for line in (1, 2, 3, 4, 5, 6, 7) if any(f"{file}:{line}: " in error for error in errors)]
    assert named == [1, 3, 5, 6, 7]
    assert "trade,asia" in errors[0]
    assert "_label__sport" in errors[1]
    assert "5 doubtful records" in errors[-1]
    assert "data.on_bad: skip" in errors[-1]


def test_skipping_is_asked_for_and_counted(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("train.txt", "__label__a red\nno marker\n__label__b blue\n_label_c green\n")
    config = gpuclf.config("naive_bayes", data={"train": file, "on_bad": "skip"}, test={"file": file})
    run, output = gpuclf.train(config)
    assert "2 records in 4 lines, fasttext, 2 skipped" in output.err
    assert about_model(run)["classes"] == ["a", "b"]
    assert metrics_of(run)["test"]["documents"] == 2
