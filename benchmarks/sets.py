"""Every linear learner on four text sets, its parameters chosen by cross-validation on the training file alone.

    python -m benchmarks.sets                          all sets, all learners (needs the measuring data)
    python -m benchmarks.sets --set trec6 --learner svm --learner mira
    python -m benchmarks.sets --out DIR                keeps the run folders, for `gpuclf compare`

A row is one `gpuclf train`: a grid of the learner's own parameters and of words or words and pairs of words, 5
stratified folds, the chosen cell trained on all training documents and measured once on the test file. On sets of two
classes there are two rows, on tf-idf and on log-count ratios (Wang & Manning 2012). CPU seconds are those of the whole
run: reading, encoding, grid, refit, test; "in the folds" is the chosen cell's mean accuracy. Beside them stands the
best linear peer that the data's own table names (text/BASELINES.tsv: each peer at the parameters that were best on the
test file), and on sets of two classes scikit-learn's learners on our inputs, chosen as ours are (benchmarks.set_peers).
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.green import require_green
from benchmarks.linear_tasks import data_file
from benchmarks.measure import markdown_table, surroundings, timed
from benchmarks.set_peers import peer_rows
from gpuclf.report.finished_run import finish, working_on
from gpuclf.report.run_folder import RunFolder
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.run import run_experiment
from gpuclf.train.signals import StopRequest

TESTS = ["tests/contract/test_every_learner.py"]
SETS = ("trec6", "r52", "movie_reviews", "banking77")
_WIDE = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
_NOT_LINEAR = ("fastText",)
_TWO_CLASSES = ("movie_reviews",)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=SETS, dest="sets")
    parser.add_argument("--learner", action="append", choices=tuple(LEARNERS), dest="learners")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="where run folders are kept")
    arguments = parser.parse_args()
    data = Path(data_file(SETS[0])).parent.parent
    require_green(TESTS)
    print(surroundings(torch.device(arguments.device)), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        out = arguments.out or Path(scratch)
        for name in arguments.sets or SETS:
            rows = [best_peer(data / "BASELINES.tsv", name)]
            rows += peer_rows(data / name) if name in _TWO_CLASSES else []
            for learner in arguments.learners or LEARNERS:
                rows += _rows(name, learner, data, out.absolute(), arguments.device)
            head = ["learner", "chosen by 5 folds", "in the folds", "accuracy", "macro-F1", "CPU s"]
            print(f"\n{name}\n\n{markdown_table(head, rows)}\n", flush=True)


def _rows(name: str, learner: str, data: Path, out: Path, device: str) -> list[list[str]]:
    """One row for each kind of weights."""
    rows = []
    for weights in WEIGHTS if name in _TWO_CLASSES else ["tfidf"]:
        options = experiment(name, learner, weights, data, device)
        metrics, (_, cpu) = timed(partial(_run, options, out / name / learner / weights))
        chosen = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in metrics["best"]["options"].items())
        test = metrics["test"]
        figures = [metrics["best"]["value"], test["accuracy"], test["macro_f1"]]
        title = learner if weights == "tfidf" else f"{learner}, {weights}"
        rows.append([title, chosen or "-", *(f"{figure:.4f}" for figure in figures), f"{cpu:.1f}"])
        print(" | ".join(rows[-1]), flush=True)
    return rows


def _run(options: ExperimentOptions, place: Path) -> dict[str, Any]:
    folder = RunFolder.create(place)
    quiet = io.StringIO()  # what a run prints would drown the rows
    with redirect_stdout(quiet), redirect_stderr(quiet), working_on(folder, options) as observer:
        result = run_experiment(options, folder.path, observer, StopRequest())
        assert result is not None
        finish(folder, options, "", result, observer)
        return dict(result.metrics)


def experiment(name: str, learner: str, weights: str, data: Path, device: str) -> ExperimentOptions:
    """One row's experiment; features are words, or words and pairs of words, as the folds decide."""
    entry = LEARNERS[learner]
    files = {"format": "tsv", "header": False, "columns": ["label", "text"]}
    return ExperimentOptions.model_validate(
        {
            "name": f"{name}-{learner}-{weights}",
            "data": {"train": str(data / name / "train.tsv.gz"), **files},
            "features": {"type": "bag_of_words", "token_pattern": r"\b\w+\b", **WEIGHTS[weights]},
            "model": entry.model,
            "train": {} if entry.epochs is None else {"max_epochs": entry.epochs},
            "grid": {"features.ngrams": [(1, 1), (1, 2)], **entry.grid},
            "folds": {"k": 5, "allow_small": True},
            "test": {"file": str(data / name / "test.tsv.gz")},
            "device": device,
            "run": {"tensorboard": False, "report": False},
        },
        strict=False,
    )


def best_peer(baselines: Path, name: str) -> list[str]:
    """The row of the peer with the highest accuracy on this set, embedding models left out."""
    with baselines.open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter="\t")
            if row["dataset"] == name and row["acc"] and row["model"] not in _NOT_LINEAR
        ]
    best = max(rows, key=lambda row: float(row["acc"]))
    peer = f"{best['model']} ({best['features']}, {best['params']})"
    return [f"best linear peer: {peer}", "on the test file", "-", best["acc"], best["macro_f1"], best["cpu_s"]]


if __name__ == "__main__":
    main()
