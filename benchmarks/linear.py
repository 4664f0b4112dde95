"""Grids of MIRA and Naive Bayes models beside scikit-learn's GridSearchCV.

    python -m benchmarks.linear                   20 Newsgroups, 7 × 5 and 7 × 10 models (needs the measuring data)
    python -m benchmarks.linear --quick           bundled BANKING77, 3 × 3 models
    python -m benchmarks.linear --only bayes      one grid alone
    python -m benchmarks.linear --device cuda     ours on the card, the peer on the processor

What is compared. MIRA: multi-class passive-aggressive (PA-I), averaged, exact, against the rule as scikit-learn has it,
one-vs-rest: SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=C, average=True). Naive Bayes: the same
model, but that ours smooths over the words of the fold's training documents, the peer over all words of the matrix.
Same documents, folds, epochs and threads (n_jobs).

What is timed, on both sides: from the weighted matrix to the table of held-out accuracies. Tf-idf is left out: ours has
the idf and norms of every fold ready-made, the peer its one matrix (idf of all documents). Neither side fits the chosen
cell again. Both run once untimed, which compiles kernels and starts the peer's workers; then they take turns, and
medians are printed.

What is checked first. The tests are green; our best mean accuracy is not more than 0.002 below the peer's; and where
both are the same model (Naive Bayes), the peer fitted to each fold's own numbers must decide as ours does: in no cell
and fold may the held-out accuracies differ by more than one document (ours are sums of float32 logarithms).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

from benchmarks.green import require_green
from benchmarks.linear_tasks import (
    Grid,
    Task,
    as_given_to_peers,
    load_task,
    our_accuracies,
    our_problem,
    peer_accuracies,
    peer_on_our_folds,
)
from benchmarks.measure import Times, alternate, markdown_table, surroundings
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.models.learner import Problem
from gpuclf.models.linear.mira import MiraOptions
from gpuclf.models.linear.naive_bayes import NaiveBayesOptions

TESTS = {
    "mira": ["tests/ops/test_online_epoch.py", "tests/ops/test_sparse_scores.py"],
    "bayes": [
        "tests/ops/test_class_counts.py",
        "tests/ops/test_compact_rows.py",
        "tests/ops/test_log_tables.py",
        "tests/ops/test_sparse_scores.py",
        "tests/models/test_counted_predictor.py",
    ],
}
TFIDF = BagOfWordsOptions(token_pattern=r"\b\w+\b", weighting="tfidf", sublinear=True, norm="l2")
MOST_DIFFERENT = 1  # documents of a fold
SLACK = 0.002  # of accuracy; the folds differ among themselves by several times as much


@dataclass(frozen=True)
class Contest:
    """One line of the table. same_model: the peer's model is ours, and its decisions must be."""

    key: str
    name: str
    grid: Grid
    peer_option: str
    make_peer: Callable[[], Any]
    folds: int
    repeats: int
    same_model: bool


def contests(quick: bool, epochs: int) -> list[Contest]:
    """The grids: 7 values in full, 3 in quick runs."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import MultinomialNB

    costs = (0.01, 1.0, 100.0) if quick else (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
    alphas = (0.01, 0.1, 1.0) if quick else (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)

    def passive_aggressive() -> Any:
        return SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate="pa1",
            average=True,
            max_iter=epochs,
            tol=None,
            random_state=0,
        )

    mira = Grid(MiraOptions(update_on="margin", average=True), "model.C", costs, epochs)
    bayes = Grid(NaiveBayesOptions(variant="multinomial"), "model.alpha", alphas, 1)
    return [
        Contest("mira", "MIRA (PA-I), averaged", mira, "eta0", passive_aggressive, 3 if quick else 5, 1, False),
        Contest("bayes", "Naive Bayes, multinomial", bayes, "alpha", MultinomialNB, 3 if quick else 10, 5, True),
    ]


def run(contest: Contest, arguments: argparse.Namespace, device: torch.device) -> list[str]:
    """Measures one contest, prints its accuracies, and gives its row of the table."""
    task = load_task(arguments.data, TFIDF, arguments.folds or contest.folds)
    matrix = as_given_to_peers(task)
    grid, peer = contest.grid, contest.make_peer()
    problem = our_problem(task, grid, device)
    warm_up(problem, task, matrix, contest, arguments.threads)

    def ours_once() -> NDArray[np.float64]:
        return our_accuracies(problem, task, grid)

    def peer_once() -> NDArray[np.float64]:
        return peer_accuracies(task, matrix, peer, contest.peer_option, grid.values, arguments.threads)

    if contest.same_model:
        require_same_decisions(contest, task, problem, ours_once())
    repeats = arguments.repeats or contest.repeats
    our_times, ours, peer_times, theirs = alternate(ours_once, peer_once, repeats)
    print_accuracies(contest, ours, theirs)
    best, peer_best = ours.mean(axis=1).max(), theirs.mean(axis=1).max()
    if best < peer_best - SLACK:
        sys.exit(f"{contest.name}: no times, our best accuracy {best:.4f} is below the peer's {peer_best:.4f}")
    return table_row(contest, task, (best, peer_best), our_times, peer_times)


def warm_up(problem: Problem, task: Task, matrix: scipy.sparse.csr_matrix, contest: Contest, threads: int) -> None:
    """Compiles kernels and starts the peer's workers, which users do once: one step of ours, one cell of the peer."""
    our_accuracies(problem, task, replace(contest.grid, steps=1))
    peer = contest.make_peer()
    if "max_iter" in peer.get_params():
        peer.set_params(max_iter=1)
    peer_accuracies(task, matrix, peer, contest.peer_option, contest.grid.values[:1], threads)


def require_same_decisions(contest: Contest, task: Task, problem: Problem, ours: NDArray[np.float64]) -> None:
    """Ends the program where the peer, given the numbers of every fold, is right in other documents than ours."""
    theirs = peer_on_our_folds(problem, task, contest.make_peer, contest.peer_option, contest.grid.values)
    documents = np.abs(ours - theirs) * np.bincount(task.folds)
    if documents.max() > MOST_DIFFERENT + 0.5:
        sys.exit(
            f"{contest.name}: no times, a fold's accuracy differs from the peer's by {documents.max():.0f} documents"
        )
    print(
        f"{contest.name}: {ours.size} models equal the peer's on the same numbers; accuracies differ by at most"
        f" {documents.max():.0f} document(s) of a fold, in all by {documents.sum():.0f} of"
        f" {len(task.labels) * len(ours)} decisions",
        flush=True,
    )


def print_accuracies(contest: Contest, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> None:
    head = [contest.grid.key, "ours", "± sd", "peer", "± sd"]
    rows = [
        [f"{value:g}", f"{a.mean():.4f}", f"{a.std(ddof=1):.4f}", f"{b.mean():.4f}", f"{b.std(ddof=1):.4f}"]
        for value, a, b in zip(contest.grid.values, ours, theirs, strict=True)
    ]
    print(f"\n{contest.name}: held-out accuracy, mean over folds\n\n{markdown_table(head, rows)}", flush=True)


def table_row(contest: Contest, task: Task, best: tuple[float, float], ours: Times, peer: Times) -> list[str]:
    models = f"{len(contest.grid.values)} × {task.num_folds}"
    return [
        contest.name,
        models,
        f"{best[0]:.4f}",
        f"{best[1]:.4f}",
        f"{ours.median_wall:.2f}",
        f"{peer.median_wall:.2f}",
        f"{peer.median_wall / ours.median_wall:.1f}×",
        f"{ours.median_cpu:.2f}",
        f"{peer.median_cpu:.2f}",
        f"{peer.median_cpu / ours.median_cpu:.1f}×",
    ]


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="bundled data, 3 x 3 models, 5 epochs")
    parser.add_argument("--data", help="a data set's name (default: 20news, with --quick banking77)")
    parser.add_argument("--folds", type=int, help="default 5 for MIRA and 10 for Naive Bayes, with --quick 3")
    parser.add_argument("--epochs", type=int, help="default 10, with --quick 5")
    parser.add_argument("--threads", type=int, default=2, help="of both sides (the peer: n_jobs)")
    parser.add_argument(
        "--repeats", type=int, help="runs of each side, in turns; default 1 for MIRA, 5 for Naive Bayes"
    )
    parser.add_argument("--only", choices=sorted(TESTS), help="one grid alone")
    parser.add_argument("--device", default="cpu", help="cpu or cuda, of ours")
    arguments = parser.parse_args(argv)
    quick = arguments.quick
    arguments.data = arguments.data or ("banking77" if quick else "20news")
    arguments.epochs = arguments.epochs or (5 if quick else 10)
    return arguments


def main(argv: list[str] | None = None) -> None:
    arguments = parse(argv)
    device = torch.device(arguments.device)
    torch.set_num_threads(arguments.threads)
    chosen = [c for c in contests(arguments.quick, arguments.epochs) if arguments.only in (None, c.key)]
    require_green(list(dict.fromkeys(test for contest in chosen for test in TESTS[contest.key])))
    rows = [run(contest, arguments, device) for contest in chosen]
    head = ["grid", "models", "accuracy", "peer", "s", "peer s", "ratio", "CPU s", "peer CPU s", "CPU ratio"]
    print(f"\n{arguments.data}, {arguments.threads} threads each, {surroundings(device)}\n")
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
