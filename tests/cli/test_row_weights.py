"""Weights of documents from a file, through the whole command: a weight of k is the document k times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf, metrics_of

WORDS = ["rain", "sun", "wind", "snow", "ice", "fog"]
ROWS = [("good" if i % 3 else "bad", f"{WORDS[i % 6]} {WORDS[(i * i) % 5]} {WORDS[i % 4]}", i % 4) for i in range(24)]
EXACT: list[dict[str, Any]] = [
    {"type": "naive_bayes", "variant": variant} for variant in ("multinomial", "bernoulli", "complement")
]
NEAR: list[dict[str, Any]] = [
    {"type": "logistic", "tol": 1e-9, "C": 0.5},
    {"type": "logistic", "tol": 1e-9, "C": 0.5, "class_weight": "balanced"},
    {"type": "svm", "tol": 1e-9, "max_iter": 2000, "C": 0.3},
]


def files(gpuclf: Gpuclf, times: int = 1) -> tuple[Path, Path]:
    """A file with weights, and one in which rows stand as often as they count."""
    head = "label\ttext\tcount\n"
    weighted = gpuclf.text("w.tsv", head + "".join(f"{y}\t{x}\t{w * times}\n" for y, x, w in ROWS))
    repeated = gpuclf.text("r.tsv", head + "".join(f"{y}\t{x}\t1\n" * (w * times) for y, x, w in ROWS))
    return weighted, repeated


@pytest.mark.parametrize("model", EXACT + NEAR, ids=str)
def test_a_weight_of_k_is_the_document_k_times(gpuclf: Gpuclf, model: dict[str, Any]) -> None:
    weighted, repeated = files(gpuclf)
    test = {"file": str(weighted)}
    runs = [
        gpuclf.trained(model, data={"train": str(weighted), "weight": "count"}, test=test),
        gpuclf.trained(model, data={"train": str(repeated)}, test=test),
        gpuclf.trained(model, data={"train": str(weighted)}, test=test),
    ]
    found = [load_file(run / "model.safetensors") for run in runs]
    name = max(found[0], key=lambda key: found[0][key].numel() if key.endswith(("weights", "counts.counts")) else 0)
    tolerance = 0.0 if model in EXACT else 2e-3
    assert (found[0][name] - found[1][name]).abs().max() <= tolerance
    assert (found[0][name] - found[2][name]).abs().max() > 0.01
    assert metrics_of(runs[0])["test"]["accuracy"] == metrics_of(runs[1])["test"]["accuracy"]
    assert sum(row["support"] for row in metrics_of(runs[0])["test"]["per_class"].values()) == 24  # each document once


@pytest.mark.parametrize("more", [{}, {"splits": "sorted"}, {"boosting": True, "min_category_rows": 1}], ids=str)
def test_trees_of_weighted_documents_are_those_of_repeated_ones(gpuclf: Gpuclf, more: dict[str, Any]) -> None:
    weighted, repeated = files(gpuclf)
    model, test = {"type": "forest", "n_estimators": 4} | more, {"file": str(weighted)}
    runs = [
        gpuclf.trained(model, data={"train": str(weighted), "weight": "count"}, test=test),
        gpuclf.trained(model, data={"train": str(repeated)}, test=test),
        gpuclf.trained(model, data={"train": str(weighted)}, test=test),
    ]
    said = [(run / "predictions.tsv").read_bytes() for run in runs]
    assert said[0] == said[1]
    assert said[0] != said[2]


def test_folds_train_on_weights_and_judge_every_document_once(gpuclf: Gpuclf) -> None:
    weighted, _ = files(gpuclf)
    data = {"train": str(weighted), "weight": "count"}
    run = gpuclf.trained({"type": "naive_bayes"}, data=data, folds={"k": 3})
    plain = gpuclf.trained({"type": "naive_bayes"}, data={"train": str(weighted)}, folds={"k": 3})
    held_out, other = metrics_of(run)["out_of_fold"], metrics_of(plain)["out_of_fold"]
    assert sum(row["support"] for row in held_out["per_class"].values()) == 24
    assert held_out["log_loss"] != other["log_loss"]


@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"naive_bayes", "logistic", "svm", "forest"}))
def test_learners_without_weights_say_why(gpuclf: Gpuclf, name: str) -> None:
    kind = LEARNERS[name]
    assert kind.no_weights
    if kind.task != "classify" or kind.reads & {"tokens", "sentences", "reviews", "contexts"}:
        return
    weighted, _ = files(gpuclf)
    output = gpuclf.not_trained(gpuclf.config(name, data={"train": str(weighted), "weight": "count"}))
    assert "data.weight" in output.err
    assert kind.no_weights in output.err


def test_a_file_in_which_nothing_counts_is_refused(gpuclf: Gpuclf) -> None:
    weighted, _ = files(gpuclf, times=0)
    output = gpuclf.not_trained(gpuclf.config("naive_bayes", data={"train": str(weighted), "weight": "count"}))
    assert "all documents have the weight 0" in output.err


def test_a_format_without_columns_refuses_the_key(gpuclf: Gpuclf) -> None:
    path = gpuclf.text("t.txt", "__label__a x\n__label__b y\n")
    output = gpuclf.not_trained(gpuclf.config("naive_bayes", data={"train": str(path), "weight": "count"}))
    assert "data.weight" in output.err
    for name in ("a/1.txt", "b/1.txt"):
        gpuclf.text(f"folder/{name}", "x")
    output = gpuclf.not_trained(
        gpuclf.config("naive_bayes", data={"train": str(gpuclf.folder / "folder"), "weight": "count"})
    )
    assert "data.weight" in output.err
