"""The learners that benchmarks.sets enters, each with its own grid, and the experiment that one row is."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuclf.report.finished_run import finish, working_on
from gpuclf.report.run_folder import RunFolder
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.run import run_experiment
from gpuclf.train.signals import StopRequest

Span = tuple[int, int]
NGRAMS: tuple[Span, ...] = ((1, 1), (1, 2))
WEIGHTS: dict[str, dict[str, Any]] = {
    "tfidf": {"weighting": "tfidf", "sublinear": True, "norm": "l2"},
    "nb_ratio": {"weighting": "nb_ratio", "norm": "l2"},
}


@dataclass(frozen=True)
class Entry:
    """A learner as it is entered: its options and the axes of its own grid."""

    model: dict[str, Any]
    grid: dict[str, list[Any]]
    epochs: int | None = None


LEARNERS = {
    "naive_bayes": Entry({"type": "naive_bayes"}, {"model.alpha": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0]}),
    "complement_nb": Entry(
        {"type": "naive_bayes", "variant": "complement"}, {"model.alpha": [0.01, 0.03, 0.1, 0.3, 1.0]}
    ),
    "perceptron": Entry({"type": "perceptron"}, {}, 10),
    "mira": Entry({"type": "mira"}, {"model.C": [0.01, 0.03, 0.1, 0.3, 1.0]}, 10),
    # as many epochs as the peers of BASELINES.tsv had, and like them with and without averaging
    "mira_20": Entry({"type": "mira"}, {"model.C": [0.01, 0.03, 0.1, 0.3, 1.0], "model.average": [True, False]}, 20),
    "online_svm": Entry({"type": "online_svm"}, {"model.lambda": [1e-6, 1e-5, 1e-4]}, 10),
    "cw": Entry({"type": "cw"}, {"model.eta": [0.6, 0.75, 0.9]}, 10),
    "arow": Entry({"type": "arow"}, {"model.r": [0.1, 1.0, 10.0]}, 10),
    "scw": Entry({"type": "scw"}, {"model.C": [0.1, 1.0], "model.eta": [0.6, 0.75, 0.9]}, 10),
    "logistic": Entry({"type": "logistic", "optimizer": "lbfgs"}, {"model.C": [1.0, 3.0, 10.0, 30.0, 100.0]}),
    # tol: a duality gap of a hundredth is below what folds can tell; at 1e-4 large C take ten times the epochs
    "svm": Entry({"type": "svm", "tol": 0.01}, {"model.C": [0.03, 0.1, 0.3, 1.0, 3.0]}),
}


def experiment(
    name: str,
    learner: str,
    weights: str,
    data: Path,
    device: str,
    ngrams: Sequence[Span] = NGRAMS,
    folds: int = 5,
) -> ExperimentOptions:
    """One row's experiment on data/name/train.tsv.gz and test.tsv.gz.

    Of several `ngrams` (words, or words and pairs of words) the folds choose one.
    """
    entry = LEARNERS[learner]
    files = {"format": "tsv", "header": False, "columns": ["label", "text"]}
    return ExperimentOptions.model_validate(
        {
            "name": f"{name}-{learner}-{weights}",
            "data": {"train": str(data / name / "train.tsv.gz"), **files},
            "features": {"type": "bag_of_words", "token_pattern": r"\b\w+\b", **WEIGHTS[weights]},
            "model": entry.model,
            "train": {} if entry.epochs is None else {"max_epochs": entry.epochs},
            "grid": {"features.ngrams": list(ngrams), **entry.grid},
            "folds": {"k": folds, "allow_small": True},
            "test": {"file": str(data / name / "test.tsv.gz")},
            "device": device,
            "run": {"tensorboard": False, "report": False},
        },
        strict=False,
    )


def run(options: ExperimentOptions, place: Path) -> dict[str, Any]:
    """The run's metrics.json; its folder is `place`, which must not be there yet."""
    folder = RunFolder.create(place)
    quiet = io.StringIO()  # what a run prints would drown the rows
    with redirect_stdout(quiet), redirect_stderr(quiet), working_on(folder, options) as observer:
        result = run_experiment(options, folder.path, observer, StopRequest())
        assert result is not None
        finish(folder, options, "", result, observer)
        return dict(result.metrics)
