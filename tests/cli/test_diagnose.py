"""`gpuclf eval --diagnose` on files made so that each part of the error is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuclf.train.diagnosis import saturated_errors
from tests.cli.drive import Gpuclf, every_learner, strict_json

BERNOULLI = {"type": "naive_bayes", "variant": "bernoulli"}


def lines(*documents: tuple[str, str, int]) -> str:
    """Labelled documents (label, words, how often)."""
    return "".join(f"__label__{label} {words}\n" * count for label, words, count in documents)


def diagnosis(gpuclf: Gpuclf, run: Path, file: Path) -> dict[str, Any]:
    found: dict[str, Any] = strict_json(gpuclf.done("eval", run, file, "--diagnose", "--json").out)["diagnosis"]
    return found


def wrong(gpuclf: Gpuclf, model: Any, train: str, test: str, **sections: Any) -> dict[str, int]:
    """The counts of the parts for a model trained on one text and judged on another."""
    run = gpuclf.trained(model, data={"train": gpuclf.text("train.txt", train)}, **sections)
    counts: dict[str, int] = diagnosis(gpuclf, run, gpuclf.text("test.txt", test))["wrong"]
    return counts


def parts(features: int = 0, form: int = 0, estimates: int = 0, unseen: int = 0) -> dict[str, int]:
    total = features + form + estimates + unseen
    named = {"features": features, "model_form": form, "parameter_estimates": estimates, "unseen_classes": unseen}
    return named | {"all": total}


def test_documents_that_look_the_same() -> None:
    kinds, gold = np.array([0, 0, 0, 1, 1, 2, 5]), np.array([0, 0, 1, 1, 0, 1, 9])
    assert saturated_errors(kinds, gold) == 2
    assert saturated_errors(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) == 0


@pytest.mark.parametrize("model", ["naive_bayes", "logistic", "svm", "mira"])
def test_features(gpuclf: Gpuclf, model: str) -> None:
    text = lines(("x", "d", 3), ("y", "d", 1), ("y", "e", 4))
    assert wrong(gpuclf, model, text, text) == parts(features=1)


def test_model_form(gpuclf: Gpuclf) -> None:
    """Exclusive or: each word is as frequent in both classes, so naive Bayes says the first class to everything."""
    text = lines(("x", "c", 2), ("y", "a c", 2), ("y", "b c", 2), ("x", "a b c", 2))
    assert wrong(gpuclf, BERNOULLI, text, text) == parts(form=4)


@pytest.mark.parametrize("model", ["naive_bayes", "perceptron", "logistic", "svm"])
def test_parameter_estimates(gpuclf: Gpuclf, model: str) -> None:
    """The words change sides: what the training file taught is wrong, and easily learnt from the file itself."""
    train, test = lines(("x", "a", 3), ("y", "b", 3)), lines(("y", "a", 4), ("x", "b", 5))
    assert wrong(gpuclf, model, train, test) == parts(estimates=9)


def test_all_of_them_together(gpuclf: Gpuclf) -> None:
    train = lines(("x", "a", 2), ("y", "b", 2), ("x", "d", 1), ("y", "d", 1))
    test = lines(("y", "a", 5), ("x", "b", 5), ("x", "d", 3), ("y", "d", 1), ("z", "a", 1))
    run = gpuclf.trained("naive_bayes", data={"train": gpuclf.text("train.txt", train)})
    file = gpuclf.text("test.txt", test)
    found = diagnosis(gpuclf, run, file)
    assert found["wrong"] == parts(features=1, estimates=10, unseen=1)
    assert found["error"]["all"] == pytest.approx(12 / 15)
    assert found["distinct"] == 3
    assert found["training_features"] == {"documents": 6, "wrong": 1}
    out = gpuclf.done("eval", run, file, "--diagnose").out
    assert "unseen classes" in out
    assert "the largest part is parameter estimates" in out
    assert "in the training file the features leave 0.1667 open (1 of 6 documents)" in out


@pytest.mark.parametrize("learner", [name for name in every_learner() if name != "text_cnn"], ids=str)
def test_every_learner(gpuclf: Gpuclf, learner: str) -> None:
    train = lines(("x", "a b", 4), ("y", "b c", 4), ("x", "c d", 2), ("y", "d", 1))
    test = lines(("x", "a", 3), ("y", "c", 2), ("x", "d", 2), ("y", "d", 1), ("y", "a c", 1))
    counts = wrong(gpuclf, every_learner()[learner], train, test)
    assert sum(counts.values()) == 2 * counts["all"], "the parts add up"
    assert counts["features"] == 1
    assert counts["model_form"] >= 0, "no learner tells apart what looks the same to it"


def test_what_the_model_does_not_use_tells_nothing_apart(gpuclf: Gpuclf) -> None:
    """A word that only one class has, but too rare for the model; and lengths, under a norm."""
    train = lines(("x", "a", 3), ("y", "b", 3))
    test = lines(("x", "a q", 2), ("y", "a", 1), ("y", "b b", 2), ("x", "b", 1))
    assert wrong(gpuclf, BERNOULLI, train, test, features={"min_df": 2, "norm": "l2"})["features"] == 2
    assert wrong(gpuclf, BERNOULLI, train, test, features={"min_df": 2})["features"] == 1


def test_the_chosen_cell_and_its_epochs(gpuclf: Gpuclf) -> None:
    """What is learnt from the file has the chosen options, and as many epochs as the model had by early stopping."""
    text = lines(("x", "a b", 6), ("y", "b c", 6), ("y", "a c", 6))
    sections = {"folds": {"k": 2}, "grid": {"model.C": [1e-9, 1.0]}, "train": {"max_epochs": 9, "early_stopping": {}}}
    run = gpuclf.trained("mira", data={"train": gpuclf.text("train.txt", text)}, **sections)
    assert diagnosis(gpuclf, run, gpuclf.text("test.txt", text))["wrong"] == parts()


def test_a_training_file_that_is_gone(gpuclf: Gpuclf) -> None:
    train = gpuclf.text("train.txt", lines(("x", "a", 2), ("y", "b", 2)))
    run = gpuclf.trained("naive_bayes", data={"train": train})
    file = gpuclf.text("test.txt", lines(("x", "a", 1)))
    train.unlink()
    assert diagnosis(gpuclf, run, file)["training_features"] is None
    assert "the training file is not where it was" in gpuclf.done("eval", run, file, "--diagnose").out


def test_a_model_without_its_run(gpuclf: Gpuclf) -> None:
    run = gpuclf.trained("naive_bayes", data={"train": gpuclf.text("t.txt", lines(("x", "a", 2), ("y", "b", 2)))})
    (run / "config.yaml").unlink()
    file = gpuclf.text("test.txt", lines(("x", "a", 1)))
    assert "config.yaml" in gpuclf.refused("eval", run, file, "--diagnose").err
