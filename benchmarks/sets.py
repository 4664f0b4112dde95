"""Every linear learner on four text sets, its parameters chosen by cross-validation on the training file alone.

    python -m benchmarks.sets                          all sets, all learners (needs the measuring data)
    python -m benchmarks.sets --set trec6 --learner svm --learner mira
    python -m benchmarks.sets --out DIR                keeps the run folders, for `gpuclf compare`
    python -m benchmarks.sets --movie-folds            movie reviews, all ten folds (benchmarks.set_folds)

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
import tempfile
from functools import partial
from pathlib import Path

import torch

from benchmarks.green import require_green
from benchmarks.linear_tasks import data_file
from benchmarks.measure import markdown_table, surroundings, timed
from benchmarks.set_experiments import LEARNERS, WEIGHTS, experiment, run
from benchmarks.set_folds import MOVIES, movie_folds
from benchmarks.set_peers import peer_rows

TESTS = ["tests/contract/test_every_learner.py"]
SETS = ("trec6", "r52", "movie_reviews", "banking77")
_NOT_LINEAR = ("fastText",)
_TWO_CLASSES = (MOVIES,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=SETS, dest="sets")
    parser.add_argument("--learner", action="append", choices=tuple(LEARNERS), dest="learners")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, help="where run folders are kept")
    parser.add_argument("--movie-folds", action="store_true", help="each of Pang & Lee's ten folds once the test file")
    arguments = parser.parse_args()
    data = Path(data_file(SETS[0])).parent.parent
    require_green(TESTS)
    print(surroundings(torch.device(arguments.device)), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        out = arguments.out or Path(scratch)
        if arguments.movie_folds:
            movie_folds(data / MOVIES, arguments.learners, out.absolute(), arguments.device)
            return
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
        metrics, (_, cpu) = timed(partial(run, options, out / name / learner / weights))
        chosen = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in metrics["best"]["options"].items())
        test = metrics["test"]
        figures = [metrics["best"]["value"], test["accuracy"], test["macro_f1"]]
        title = learner if weights == "tfidf" else f"{learner}, {weights}"
        rows.append([title, chosen or "-", *(f"{figure:.4f}" for figure in figures), f"{cpu:.1f}"])
        print(" | ".join(rows[-1]), flush=True)
    return rows


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
