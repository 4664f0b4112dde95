"""How cells are chosen and documents split, through the command: what metrics.json says can be recomputed from it."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest

from tests.cli.drive import Gpuclf, metrics_of, table_of

WORDS = ["ash", "fir", "yew", "oak", "elm", "box"]


def sentences(count: int, seed: int) -> str:
    """Labelled lines of two noisy classes."""
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        label = int(generator.integers(2))
        words = [WORDS[3 * label + int(generator.integers(3))]]
        words += [WORDS[int(generator.integers(6))] for _ in range(3)]
        lines.append(f"c{label}\t{' '.join(words)}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def data(gpuclf: Gpuclf) -> dict[str, Any]:
    """The data section of forty noisy lines."""
    file: Path = gpuclf.text("train.tsv", sentences(40, 3))
    return {"train": file, "header": False, "columns": ["label", "text"]}


@pytest.mark.parametrize(
    ("model", "option", "direction"),
    [
        ({"type": "mira"}, {"model.C": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]}, -1),
        ({"type": "naive_bayes"}, {"model.alpha": [0.01, 0.1, 1.0, 10.0, 30.0]}, 1),
    ],
)
@pytest.mark.parametrize("budget", [None, 1e-6], ids=["one batch", "a batch each"])
def test_one_standard_error(
    gpuclf: Gpuclf,
    data: dict[str, Any],
    model: dict[str, Any],
    option: dict[str, list[float]],
    direction: int,
    budget: Any,
) -> None:
    train = {} if budget is None else {"memory_budget": budget}
    if model["type"] == "mira":
        train["max_epochs"] = 3
    sections = {"data": data, "folds": {"k": 5}, "grid": option, "train": train}
    run = gpuclf.trained(model, select={"one_standard_error": True}, **sections)
    metrics = metrics_of(run)
    ((key, values),) = option.items()
    means = [cell["mean"]["accuracy"] for cell in metrics["cells"]]
    top = max(range(len(means)), key=lambda cell: (means[cell], direction * values[cell]))
    folds = [row["accuracy"] for row in metrics["cells"][top]["runs"]]
    least = means[top] - stdev(folds) / 5**0.5
    wanted = max(
        (value for value, mean in zip(values, means, strict=True) if mean >= least), key=lambda v: direction * v
    )
    assert metrics["best"]["options"] == {key: wanted}
    assert metrics["best"]["value"] == fmean(row["accuracy"] for row in metrics["cells"][values.index(wanted)]["runs"])
    assert metrics["out_of_fold"]["accuracy"] == pytest.approx(metrics["best"]["value"]), (
        "its out-of-fold rows were kept"
    )
    plain = metrics_of(gpuclf.trained(model, **sections))
    assert plain["best"]["options"] == {key: values[top]}
    assert plain["cells"] == metrics["cells"]


@pytest.mark.parametrize("kind", ["mira", "naive_bayes"])
@pytest.mark.parametrize("budget", [None, 1e-6], ids=["one batch", "a batch each"])
def test_leave_one_out(gpuclf: Gpuclf, data: dict[str, Any], kind: str, budget: float | None) -> None:
    """Every document is answered by a model of all others: the same answer as from a run that never saw it."""
    train = {"max_epochs": 3} if kind == "mira" else {}
    config = gpuclf.config(
        kind, data=data, folds={"k": "all"}, train=train, features={"type": "bag_of_words", "min_df": 2}
    )
    run, output = gpuclf.train(config, *([] if budget is None else [f"train.memory_budget={budget}"]))
    metrics = metrics_of(run)
    (cell,) = metrics["cells"]
    assert [row["fold"] for row in cell["runs"]] == list(range(40))
    assert {row["accuracy"] for row in cell["runs"]} <= {0.0, 1.0}
    assert metrics["out_of_fold"]["documents"] == 40
    assert metrics["out_of_fold"]["accuracy"] == pytest.approx(cell["mean"]["accuracy"])
    assert (metrics["folds"]["folds"], metrics["folds"]["most"]) == (40, 1)
    assert "accuracy" in output.out
    answers = table_of(run / "out_of_fold.tsv")[1:]
    lines = data["train"].read_text().splitlines()
    others = [f"{place}\t{line}" for place, line in enumerate(lines, start=1) if place != 7]  # ids as in the whole file
    sections = {"train": train, "features": {"type": "bag_of_words", "min_df": 2}}
    less = {"train": gpuclf.text("less.tsv", "\n".join(others) + "\n"), "header": False}
    alone = gpuclf.trained(kind, data=less | {"columns": ["id", "label", "text"], "id": "id"}, **sections)
    one = gpuclf.text("one.txt", lines[6].split("\t")[1] + "\n")
    said = gpuclf.done("predict", alone, one, "--input-format", "lines", "--format", "jsonl").records[0]
    assert said["label"] == answers[6][2]
    assert list(said["scores"].values()) == pytest.approx([float(score) for score in answers[6][3:]], rel=1e-6)


def test_repeated_folds(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    sections = {"data": data, "train": {"max_epochs": 2}, "grid": {"model.C": [0.01, 1.0]}}
    repeated = metrics_of(run := gpuclf.trained("mira", folds={"k": 4, "repeats": 3}, **sections))
    once = metrics_of(gpuclf.trained("mira", folds={"k": 4}, **sections))
    for cell, first in zip(repeated["cells"], once["cells"], strict=True):
        assert [row["fold"] for row in cell["runs"]] == list(range(12))
        assert cell["runs"][:4] == first["runs"], "the first repeat is the cross-validation without repeats"
        assert cell["mean"]["accuracy"] == pytest.approx(fmean(row["accuracy"] for row in cell["runs"]))
    assert repeated["folds"]["repeats"] == 3
    rows = table_of(run / "out_of_fold.tsv")[1:]
    assert [row[0] for row in rows] == [str(place) for place in range(1, 41)], "each document once: the first repeat"
    one = metrics_of(gpuclf.trained("mira", folds={"k": 4, "repeats": 3, "index": 9}, **sections))
    assert [cell["runs"] for cell in one["cells"]] == [[cell["runs"][9]] for cell in repeated["cells"]]


@pytest.mark.parametrize("folds", [{"k": 4, "repeats": 2}, {"k": "all"}], ids=["repeats", "leave-one-out"])
def test_folds_by_memory_are_the_same_folds(gpuclf: Gpuclf, data: dict[str, Any], folds: dict[str, Any]) -> None:
    """All views at once, or each batch with its own: the same figures, with features learnt from training rows."""
    features = {"type": "bag_of_words", "weighting": "tfidf", "norm": "l2", "min_df": 2}
    sections = {"data": data, "folds": folds, "features": features, "grid": {"model.C": [0.1, 1.0], "seed": [0, 1]}}
    whole, cut = (
        metrics_of(gpuclf.trained("mira", train={"max_epochs": 2} | more, **sections))
        for more in ({}, {"memory_budget": 3e-5})
    )
    assert whole["cells"] == cut["cells"]
    assert whole["out_of_fold"] == cut["out_of_fold"]


def test_leave_one_out_in_tensorboard_and_check(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    config = gpuclf.config("naive_bayes", data=data, folds={"k": "all"}, run={"tensorboard": True})
    assert "40" in gpuclf.done("check", config).out
    run, _ = gpuclf.train(config)
    events = b"".join(file.read_bytes() for file in run.glob("events.out.tfevents.*"))
    assert b"held_out/accuracy" in events
    assert b"runs/" not in events, "forty curves of one document each"
