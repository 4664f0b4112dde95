"""`calibrate`: probabilities for learners that give scores, learnt on held-out documents, kept with the model."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch

from gpuclf.models.registry import LEARNERS
from gpuclf.optim.calibration import CALIBRATORS, fit_calibrator
from gpuclf.report.predictions import read_predictions
from gpuclf.report.strict_json import number
from tests.cli.drive import Gpuclf, about_model, every_learner, metrics_of, strict_json

METHODS = list(CALIBRATORS)


def documents(count: int, seed: int, classes: int = 3) -> str:
    """Lines of three classes whose words overlap: a fifth of the labels is wrong."""
    draw = random.Random(seed)
    lines = []
    for place in range(count):
        kind = place % classes
        words = " ".join(f"w{draw.randrange(kind * 6, kind * 6 + 12)}" for _ in range(5))
        label = draw.randrange(classes) if draw.random() < 0.3 else kind
        lines.append(f"__label__c{label} {words}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def data(gpuclf: Gpuclf) -> dict[str, Any]:
    return {"data": {"train": gpuclf.text("train.txt", documents(150, 0))}}


def scores_of(path: Path) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """Ids, gold class numbers and scores of a predictions file."""
    classes, rows = read_predictions(path)
    found = list(rows)
    gold = torch.tensor([classes.index(row[1]) for row in found])
    return [row[0] for row in found], gold, torch.tensor([row[3] for row in found], dtype=torch.float32)


@pytest.mark.parametrize("method", METHODS)
def test_it_is_learnt_from_the_out_of_fold_scores_of_the_chosen_cell(
    gpuclf: Gpuclf, data: dict[str, Any], method: str
) -> None:
    """The scores of a run without it, calibrated by hand, are the probabilities of the run with it."""
    file = gpuclf.text("new.txt", documents(30, 1))
    sections = data | {"folds": {"k": 3}, "grid": {"model.C": [0.01, 1.0]}, "test": {"file": file}}
    plain, run = gpuclf.trained("mira", **sections), gpuclf.trained("mira", **sections, calibrate=method)
    _, gold, held_out = scores_of(plain / "out_of_fold.tsv")
    _, _, test = scores_of(plain / "predictions.tsv")
    expected = fit_calibrator(method, held_out, gold, False).log_probabilities(test)  # type: ignore[arg-type]
    _, _, found = scores_of(run / "predictions.tsv")
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-6)
    assert metrics_of(run)["best"] == metrics_of(plain)["best"], "the grid is not touched"
    for record, row in zip(
        gpuclf.done("predict", run, file, "--proba", "--format", "jsonl").records, expected.exp().tolist(), strict=True
    ):
        assert list(record["probabilities"].values()) == pytest.approx(row, rel=1e-4)
        assert sum(record["probabilities"].values()) == pytest.approx(1, abs=1e-9)
        assert record["probabilities"][record["label"]] == max(record["probabilities"].values())


@pytest.mark.parametrize("learner", every_learner(), ids=str)
def test_every_learner(gpuclf: Gpuclf, data: dict[str, Any], learner: str) -> None:
    model = every_learner()[learner]
    run = gpuclf.trained(model, **data, folds={"k": 3}, calibrate="platt")
    metrics = metrics_of(run)
    record = metrics["calibration"]
    assert (record["method"], record["rows"], record["documents"]) == ("platt", "out_of_fold", 150)
    assert 0 < record["after"]["log_loss"] < math.log(3), "it says more than that there are three classes"
    assert ("before" in record) == LEARNERS[model["type"]].model_validate(model).probabilities
    for name, value in record["after"].items():
        assert metrics["out_of_fold"][name] == pytest.approx(value, rel=1e-4)


def test_held_out_figures_are_by_calibrators_that_did_not_see_the_row(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    sections = data | {"folds": {"k": 3}}
    plain, run = gpuclf.trained("mira", **sections), gpuclf.trained("mira", **sections, calibrate="isotonic")
    _, gold, scores = scores_of(plain / "out_of_fold.tsv")
    _, _, found = scores_of(run / "out_of_fold.tsv")
    same = fit_calibrator("isotonic", scores, gold, False).log_probabilities(scores).float()
    assert not torch.allclose(found, same, atol=1e-3)
    # curves on the rows that they were drawn through look better than they are
    taken = torch.arange(len(gold))
    assert float(found[taken, gold].mean()) < float(same[taken, gold].mean())


def test_validation_documents_serve_as_well(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    validation = {"file": gpuclf.text("held.txt", documents(60, 2) + "__label__new w1 w2\n")}
    run = gpuclf.trained("svm", **data, validation=validation, calibrate="temperature")
    record = metrics_of(run)["calibration"]
    assert (record["rows"], record["documents"]) == ("validation", 60), "a class without a column teaches nothing"
    assert record["temperature"] > 0
    fraction = gpuclf.trained("mira", **data, validation={"fraction": 0.3}, calibrate="platt")
    assert metrics_of(fraction)["calibration"]["documents"] == pytest.approx(45, abs=2)


@pytest.mark.parametrize(
    ("folds", "rows"),
    [({"k": 3, "inner": 2}, 60), ({"k": "all"}, 60), ({"k": 3, "repeats": 2}, 60), ({"k": 3, "index": 1}, 20)],
    ids=str,
)
def test_folds_of_every_kind(gpuclf: Gpuclf, folds: dict[str, Any], rows: int) -> None:
    """Each held-out document is scored once: by the outer folds, by those of the first repeat, or of the only fold."""
    data = {"train": gpuclf.text("train.txt", documents(60, 0))}
    grid = {"model.alpha": [0.5, 2.0]}
    run = gpuclf.trained("naive_bayes", data=data, folds=folds, grid=grid, calibrate="isotonic")
    assert metrics_of(run)["calibration"]["documents"] == rows


def test_eval_and_export_of_a_calibrated_model(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    file = gpuclf.text("new.txt", documents(60, 1))
    run = gpuclf.trained("perceptron", **data, folds={"k": 3}, calibrate="platt", test={"file": file})
    test = metrics_of(run)["test"]
    assert strict_json(gpuclf.done("eval", run, file, "--json").out) == test
    assert {"log_loss", "brier", "expected_calibration_error", "reliability"} <= test.keys()
    assert "log_loss" in gpuclf.done("eval", run, file).out
    assert about_model(run)["calibrator"]["kind"] == "platt"
    output = gpuclf.done("export", run, "--to", "text")
    assert "the calibration (platt) is in the files of --to sklearn and --to onnx" in output.err
    gpuclf.done("export", run, "--to", "sklearn")
    calibration = strict_json((run / "export" / "sklearn.json").read_bytes())["calibration"]
    assert calibration["method"] == "platt"
    assert len(calibration["slope"]) == 3
    assert "calibrate" in gpuclf.done("show", run).out


def test_without_held_out_documents_it_is_refused(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    said = gpuclf.not_trained(gpuclf.config("mira", **data, calibrate="platt")).err
    assert "calibrate" in said
    assert "folds: {k: 10} or validation: {fraction: 0.1}" in said
    said = gpuclf.not_trained(gpuclf.config("mira", **data, folds={"k": 3}, calibrate="plat")).err
    assert "did you mean platt?" in said
    grid = {"calibrate": METHODS}
    said = gpuclf.not_trained(gpuclf.config("mira", **data, folds={"k": 3}, grid=grid)).err
    assert "calibrate is the same for a whole experiment" in said


def test_a_model_without_it_says_what_to_set(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    run = gpuclf.trained("svm", **data)
    assert "calibrator" not in about_model(run), "model files without it are what they were"
    said = gpuclf.refused("predict", run, "--proba", stdin=b"w1\n").err
    assert "svm gives scores, not probabilities" in said
    assert "calibrate: platt" in said


def test_a_class_that_no_held_out_document_has_is_told(gpuclf: Gpuclf) -> None:
    train = gpuclf.text("train.txt", documents(90, 0) + "__label__rare w99\n")
    held = gpuclf.text("held.txt", documents(60, 2))
    config = gpuclf.config("mira", data={"train": train}, validation={"file": held}, calibrate="isotonic")
    run, output = gpuclf.train(config)
    assert "no held-out document is of rare" in output.err
    assert metrics_of(run)["calibration"]["classes_without_documents"] == ["rare"]
    (line,) = gpuclf.done("predict", run, "--format", "jsonl", "--proba", stdin=b"w1 w2\n").records
    assert 0 < line["probabilities"]["rare"] < 0.05


def test_only_the_averaged_weights_are_calibrated(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    """Out-of-fold scores are those of the averaged weights; the last ones have another scale, and no probabilities."""
    file = gpuclf.text("new.txt", documents(30, 1))
    metrics = metrics_of(gpuclf.trained("mira", **data, folds={"k": 3}, calibrate="platt", test={"file": file}))
    assert "log_loss" in metrics["test"]
    assert "log_loss" not in metrics["test_final"]


def test_smoothing_0_and_calibration(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    """Scores of -inf: held-out documents show how often the class is right all the same."""
    nb = {"type": "naive_bayes", "alpha": 0.0}
    file = gpuclf.text("new.txt", documents(60, 1))
    run = gpuclf.trained(nb, **data, folds={"k": 3}, calibrate="isotonic", test={"file": file})
    metrics = metrics_of(run)
    assert number(metrics["calibration"]["before"]["log_loss"]) == math.inf
    assert math.isfinite(metrics["test"]["log_loss"])


def test_a_tampered_calibrator_is_refused(gpuclf: Gpuclf, data: dict[str, Any]) -> None:
    run = gpuclf.trained("mira", **data, folds={"k": 3}, calibrate="platt")
    about = run / "model.json"
    about.write_text(about.read_text().replace('"kind":"platt"', '"kind":"os.system"'))
    assert "is not a complete model file" in gpuclf.refused("predict", run, stdin=b"w1\n").err
