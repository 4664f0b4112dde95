"""How cells are chosen and documents split, through the command: what metrics.json says can be recomputed from it."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest

from tests.cli.drive import Gpuclf, metrics_of, strict_json, table_of

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
    assert one["out_of_fold"]["documents"] == 10


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


@pytest.mark.parametrize("memory", [{}, {"memory_budget": 3e-5}], ids=["at once", "by batches"])
@pytest.mark.parametrize("one_standard_error", [False, True])
def test_nested_cross_validation(
    gpuclf: Gpuclf, data: dict[str, Any], memory: dict[str, Any], one_standard_error: bool
) -> None:
    """What nested says of a fold is what a run by hand gives: cross-validate on the fold's training rows, choose."""
    select = {"one_standard_error": one_standard_error}
    sections = {"train": {"max_epochs": 2} | memory, "grid": {"model.C": [0.003, 0.03, 1.0]}, "select": select}
    plain = metrics_of(gpuclf.trained("mira", data=data, folds={"k": 3}, **sections))
    run, output = gpuclf.train(gpuclf.config("mira", data=data, folds={"k": 3, "inner": 4}, **sections))
    metrics = metrics_of(run)
    nested = metrics["nested"]
    assert f"nested, each fold by the cell chosen without it: accuracy {nested['mean']['accuracy']:.4f} ±" in output.out
    for key in ("cells", "best", "folds", "out_of_fold"):
        assert metrics[key] == plain[key], "the outer folds are the plain cross-validation"
    assert [row["fold"] for row in nested["folds"]] == [0, 1, 2]
    log = [strict_json(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for row in nested["folds"]:
        inner = [r for r in log if r["phase"] == "inner" and r["fold"] == row["fold"] and r["step"] == 2]
        assert len(inner) == 3 * 4
        means = [fmean(r["held_out"]["accuracy"] for r in inner if r["cell"] == cell) for cell in range(3)]
        top = max(range(3), key=lambda cell: (means[cell], -cell))
        if one_standard_error:
            spread = stdev(r["held_out"]["accuracy"] for r in inner if r["cell"] == top) / 2
            top = next(cell for cell in range(3) if means[cell] >= means[top] - spread)
        assert row["cell"] == top
        assert row["chosen_by"] == pytest.approx(means[top])
        assert row["accuracy"] == metrics["cells"][top]["runs"][row["fold"]]["accuracy"]
    assert nested["mean"]["accuracy"] == pytest.approx(fmean(row["accuracy"] for row in nested["folds"]))
    assert {len([r for r in log if r["phase"] == phase and r["step"] == 1]) for phase in ("grid", "refit")} == {9, 1}


def test_inner_models_never_see_the_outer_fold(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    """An outer fold is predicted, and its cell chosen, without its documents: a run without them says the same."""
    sections = {"train": {"max_epochs": 2}, "grid": {"model.C": [0.01, 1.0]}}
    config = gpuclf.config("mira", data=data, folds={"k": 3, "inner": 2}, **sections)
    run, _ = gpuclf.train(config)
    log = [strict_json(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    first = [row for row in log if row["phase"] == "inner" and row["fold"] == 0]
    one, _ = gpuclf.train(config, "folds.index=0")
    assert metrics_of(one)["nested"]["folds"] == metrics_of(run)["nested"]["folds"][:1]
    alone = [strict_json(line) for line in (one / "metrics.jsonl").read_text().splitlines()]
    keys = ("cell", "seed", "fold", "inner", "step", "mistakes", "held_out")
    found = [[{key: row[key] for key in keys} for row in rows if row["phase"] == "inner"] for rows in (first, alone)]
    assert sorted(found[0], key=str) == sorted(found[1], key=str)


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"folds": {"k": 3, "inner": 2}}, "nothing to choose"),
        ({"folds": {"k": "all", "inner": 2}, "grid": {"model.C": [1.0, 2.0]}}, "inner folds for every document"),
        ({"folds": {"k": 3, "inner": 30}, "grid": {"model.C": [1.0, 2.0]}}, "among the training documents of fold 0"),
        (
            {"folds": {"k": 3, "inner": 2}, "grid": {"model.C": [1.0, 2.0]}, "train": {"early_stopping": {}}},
            "stop the very models that it judges",
        ),
    ],
)
def test_nesting_that_means_nothing(
    gpuclf: Gpuclf, data: dict[str, Any], sections: dict[str, Any], message: str
) -> None:
    assert message in gpuclf.not_trained(gpuclf.config("mira", data=data, **sections)).err
