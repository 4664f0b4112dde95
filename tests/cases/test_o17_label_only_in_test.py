"""o17: a label that occurs only in the test file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf, metrics_of, strict_json, table_of

SUPPORT = {"ash": 2, "fir": 1, "yew": 1}


def assert_counts_as_an_error(figures: dict[str, Any]) -> None:
    assert figures["documents"] == 4
    assert figures["accuracy"] == 0.75
    assert {name: row["support"] for name, row in figures["per_class"].items()} == SUPPORT
    assert figures["per_class"]["yew"]["recall"] == 0.0
    assert figures["not_in_training"] == ["yew"]
    assert "yew" in figures["counted"], "macro averages say which classes they count"


def test_it_counts_as_an_error_in_train_and_in_eval(gpuclf: Gpuclf, case: Path, last_weights: dict[str, Any]) -> None:
    config = gpuclf.config(last_weights, data={"train": case / "train.txt"}, test={"file": case / "test.txt"})
    run, output = gpuclf.train(config)
    assert_counts_as_an_error(metrics_of(run)["test"])
    assert "class yew is not in the training file" in output.err
    assert "not in training: yew" in output.out
    assert [row[1] for row in table_of(run / "predictions.tsv")[1:]] == ["ash", "yew", "fir", "ash"]
    said = gpuclf.done("eval", run, case / "test.txt")
    assert "accuracy 0.7500" in said.out
    assert "not in training: yew; such documents count as errors, and macro figures count the class" in said.out
    figures = strict_json(gpuclf.done("eval", run, case / "test.txt", "--json").out)
    assert_counts_as_an_error(figures)
    if LEARNERS[last_weights["type"]].model_validate(last_weights).probabilities:
        assert figures["log_loss"] == "inf"
        assert figures["log_loss_infinite_documents"] == 1
    shown = gpuclf.done("show", run).out
    assert "Confusions: 1 of 4 documents are wrong" in shown
    assert "yew" in shown


def test_it_counts_as_an_error_among_held_out_documents_too(
    gpuclf: Gpuclf, case: Path, last_weights: dict[str, Any]
) -> None:
    sections: dict[str, Any] = {"validation": {"file": case / "test.txt"}}
    if "max_epochs" in LEARNERS[last_weights["type"]].train_keys:
        sections["train"] = {"max_epochs": 4, "early_stopping": {"metric": "macro_f1", "patience": 2}}
        if "learning_rate" in LEARNERS[last_weights["type"]].train_keys:
            sections["train"] |= {"max_epochs": 20, "learning_rate": 0.05}
    config = gpuclf.config(last_weights, data={"train": case / "train.txt"}, **sections)
    run, output = gpuclf.train(config)
    assert "classes that the training file does not have: yew" in output.err
    metrics = metrics_of(run)
    assert metrics["best"]["value"] == 0.75
    assert_counts_as_an_error(metrics["out_of_fold"])
    assert "yew" in gpuclf.done("show", run).out


def test_feature_selection_by_class_does_not_trip_over_it(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained(
        "naive_bayes",
        data={"train": case / "train.txt"},
        features={"type": "bag_of_words", "select": {"method": "chi2", "k": 2}},
        validation={"file": case / "test.txt"},
    )
    assert metrics_of(run)["out_of_fold"]["not_in_training"] == ["yew"]
