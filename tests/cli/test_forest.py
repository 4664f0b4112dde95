"""A forest through the commands: train on a table, show, predict, evaluate; interrupted and resumed; boosting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuclf.train import forest_figures
from tests.cli.drive import Gpuclf, metrics_of

TABLE = {"categorical": ["colour", "shape"], "numeric": ["size"], "format": "tsv"}
MODELS: dict[str, dict[str, Any]] = {
    "composed": {"n_estimators": 12},
    "sorted": {"n_estimators": 12, "splits": "sorted", "max_features": 2, "bootstrap": True},
    "boosting": {"n_estimators": 12, "boosting": True, "min_child_weight": 0.01, "l2": 0.1, "min_category_rows": 1},
}


@pytest.fixture
def gpuclf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gpuclf:
    monkeypatch.chdir(tmp_path)
    return Gpuclf(tmp_path, capsys, monkeypatch)


def table(rows: int, labelled: bool = True) -> str:
    """Labels like 7 follow colour and size; the last colour stands in no training row."""
    colours = ["red", "green", "blue", "[bold]", "7"]
    lines = ["\t".join((["label"] if labelled else []) + ["shape", "colour", "size"])]
    for n in range(rows):
        colour, size = colours[n % 4 if labelled else n % 5], (n * 7) % 13 / 2
        label = str(7 + (n % 4 > 1) + (size > 3))
        lines.append("\t".join(([label] if labelled else []) + [f"s{n % 3}", colour, str(size)]))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", MODELS)
def test_a_table_is_learnt_shown_and_predicted(gpuclf: Gpuclf, name: str) -> None:
    train, test = gpuclf.text("train.tsv", table(160)), gpuclf.text("test.tsv", table(60))
    sections = {"features": {"type": "categorical"}, "data": TABLE | {"train": train}, "test": {"file": test}}
    run = gpuclf.trained({"type": "forest"} | MODELS[name], **sections, folds={"k": 2})
    figures = metrics_of(run)["test"]
    assert figures["accuracy"] == 1.0
    assert set(figures["per_class"]) == {"7", "8", "9"}
    _record_is_whole(metrics_of(run)["forest"], name)
    shown = gpuclf.done("show", run).out
    assert "colour" in shown
    assert "levels deep" in shown
    assert "accuracy lost" in shown
    assert ("strength" in shown) == (name != "boosting")
    assert [line.split() for line in shown.splitlines() if line.startswith("8 ")] == [["8", "30", "100.0%"]]
    assert ("The top of the first tree" in shown) == (name != "boosting")
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "share of what all splits gained" in page
    assert f"accuracy by the number of {'rounds' if name == 'boosting' else 'trees'}" in page
    assert ("rows, by " in page) == (name != "boosting")
    unlabelled = gpuclf.text("new.tsv", table(25, labelled=False))
    lines = gpuclf.done("predict", run, unlabelled, "--format", "jsonl", "--proba").records
    assert len(lines) == 25
    assert {record["label"] for record in lines} <= {"7", "8", "9"}


def _record_is_whole(forest: dict[str, Any], name: str) -> None:
    """metrics.json "forest" of a run with 60 test documents."""
    rounds = 12 * 3 if name == "boosting" else 12
    assert forest["trees"] == rounds
    assert forest["nodes"]["least"] <= forest["nodes"]["mean"] <= forest["nodes"]["most"]
    assert forest["depth"]["most"] >= 1
    curves = forest["accuracy_by_rounds" if name == "boosting" else "accuracy_by_trees"]
    judged = ["out_of_bag", "test"] if name == "sorted" else ["test"]
    assert list(curves) == judged
    assert curves["test"]["trees"] == [*range(1, 9), 10, 11, 12]
    assert curves["test"]["accuracy"][-1] == 1.0
    if name != "boosting":
        assert list(forest["strength"]) == judged
        assert forest["strength"]["test"]["documents"] == 60
        assert 0 < forest["strength"]["test"]["strength"] <= 1
    inputs = forest["inputs"]
    assert sum(about["gain"] for about in inputs.values()) == pytest.approx(1.0)
    assert sum(about["splits"] for about in inputs.values()) == pytest.approx(1.0)
    assert inputs["colour"]["permutation"]["mean"] > 0.1
    assert abs(inputs["shape"]["permutation"]["mean"]) < 0.1
    assert forest["permutation"] == {"rows_are": "test", "repeats": 2, "documents": 60}
    assert forest["unseen"] == {"documents": 0, "values": 0, "rows_are": "test"}


def test_figures_come_from_held_out_rows_where_there_is_no_test_file(
    gpuclf: Gpuclf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that validation has kept is judged on what it was not trained on, and so are the values new to it."""
    monkeypatch.setattr(forest_figures, "PERMUTED", 60)
    rows = table(160).splitlines()
    rows[1:41:4] = [line.replace("red", f"rare{n}") for n, line in enumerate(rows[1:41:4])]
    file = gpuclf.text("train.tsv", "\n".join(rows) + "\n")
    sections = {"features": {"type": "categorical"}, "data": TABLE | {"train": file}}
    kept = {"validation": {"fraction": 0.5}, "select": {"refit": False}}
    run = gpuclf.trained({"type": "forest", "n_estimators": 4}, **sections, **kept, run={"permutations": 2})
    forest = metrics_of(run)["forest"]
    assert forest["permutation"] == {"rows_are": "held_out", "repeats": 2, "documents": 60}
    assert forest["strength"]["held_out"]["accuracy"] == metrics_of(run)["out_of_fold"]["accuracy"]
    assert forest["unseen"]["documents"] > 0
    assert forest["inputs"]["colour"]["unseen"] == forest["unseen"]["values"]
    bare = gpuclf.trained({"type": "forest", "n_estimators": 4}, **sections)
    assert not {"strength", "permutation", "unseen"} & set(metrics_of(bare)["forest"])


def test_removed_values_are_told_by_input(gpuclf: Gpuclf) -> None:
    """Blue stands for green, both of one class; grey is too rare; numbers are no such values."""
    rows = ["label\tcolour\tn", *["a\tred\t1", "b\tred\t2", "a\tgreen\t3", "a\tgreen\t4", "a\tblue\t5", "a\tblue\t6"]]
    rows += ["b\tgrey\t7"]
    file = gpuclf.text("train.tsv", "\n".join(rows) + "\n")
    data = {"categorical": ["colour"], "numeric": ["n"], "format": "tsv", "train": file}
    model = {"type": "forest", "n_estimators": 2, "merge_pure_values": True, "min_value_count": 2}
    run = gpuclf.trained(model, data=data, features={"type": "categorical"})
    forest = metrics_of(run)["forest"]
    assert forest["reduction"] == {"values": 4, "merged": 1, "dropped": 1}
    assert forest["inputs"]["colour"]["values"] == 4
    assert forest["inputs"]["colour"]["removed"] == 2
    assert forest["inputs"]["n"]["values"] == forest["inputs"]["n"]["removed"] == 0
    told = "2 of 4 values of training were removed"
    assert told in gpuclf.done("show", run).out
    assert told in (run / "report.html").read_text(encoding="utf-8")


def test_codes_are_no_features_for_a_linear_model(gpuclf: Gpuclf) -> None:
    data = TABLE | {"train": gpuclf.text("train.tsv", table(40))}
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", data=data, features={"type": "categorical"})).err
    assert "features.type" in said
    assert "table" in said


def test_options_that_would_do_nothing_are_refused(gpuclf: Gpuclf) -> None:
    data = TABLE | {"train": gpuclf.text("train.tsv", table(40))}
    model = {"type": "forest", "max_features": 2}
    said = gpuclf.not_trained(gpuclf.config(model, data=data, features={"type": "categorical"})).err
    assert "max_features" in said
    assert "composed" in said
