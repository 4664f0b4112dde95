"""Logistic regression and joint SVMs on 20 Newsgroups beside scikit-learn and liblinear (needs the measuring data).

    python -m benchmarks.logistic                      the parts fit, optimum and svm
    python -m benchmarks.logistic --only grid          7 values of C × 5 folds; the peer takes many minutes

fit: one model on all training documents at C = 10; ours (lbfgs and dcd, as configs have them) stop by their own rule,
the peer by its (LogisticRegression(lbfgs, tol=1e-4)). No time is printed if our objective is the higher one.
optimum: our objective after training, beside a Newton method in float64 written here, which stops where the step
promises less than 1e-9 of the objective. C = 0.1, 10, 1000.
grid: all cells and folds as one batch against GridSearchCV(n_jobs=2), neither fits the chosen cell again; ours learns
idf and norm from each fold's training rows in that time, the peer gets its matrix ready-made. --folds 1 runs a single
fold of both.
svm: mean accuracies over 5 folds of the training documents, the best of which says C; then one fit on one thread at
that C and some others, both solvers to a relative gap of 0.1 (benchmarks.joint_svm says of what), with the accuracy on
the test file.
CPU seconds count all threads.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch

from benchmarks.green import require_green
from benchmarks.joint_svm import svm
from benchmarks.linear import TFIDF
from benchmarks.linear_tasks import Task, as_given_to_peers, load_task
from benchmarks.measure import alternate, markdown_table, surroundings, timed
from benchmarks.regularised_tasks import (
    logistic_objective,
    newton_reference,
    our_grid,
    our_objective,
    peer_grid,
    problem_of,
    train,
)
from gpuclf.models.linear.logistic import LogisticOptions

TESTS = ["tests/ops/test_linear_training_ops.py", "tests/ops/test_dual_epoch.py", "tests/models/test_regularised.py"]
PARTS = ("fit", "optimum", "grid", "svm")
GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)


def fit(task: Task, matrix: Any, repeats: int, C: float = 10.0) -> str:
    """One fit of each."""
    from sklearn.linear_model import LogisticRegression

    problem, table = problem_of(task), []
    for optimizer in ("lbfgs", "dcd"):
        options = LogisticOptions(C=C, optimizer=optimizer)
        train(options.model_copy(update={"max_iter": 2}), problem, task.classes)  # compiles the kernels
        ours, found, theirs, peer = alternate(
            lambda options=options: train(options, problem, task.classes),  # type: ignore[misc]
            lambda: LogisticRegression(C=C, tol=1e-4, max_iter=500).fit(matrix, task.labels),
            repeats,
        )
        value = our_objective(found.predictor, problem, C)
        goal = logistic_objective(peer.coef_.T, peer.intercept_, matrix, task.labels, C)
        if value > goal:
            return f"fit: no time, for the objective of ours ({optimizer}) is {value:.8g}, of the peer {goal:.8g}"
        clock, cpu = theirs.median_wall / ours.median_wall, theirs.median_cpu / ours.median_cpu
        row = [f"ours, {optimizer}", f"{value:.7g}", f"{goal:.7g}"]
        row += [f"{ours.median_wall:.2f}", f"{theirs.median_wall:.2f}", f"{clock:.1f}×"]
        table.append([*row, f"{ours.median_cpu:.2f}", f"{theirs.median_cpu:.2f}", f"{cpu:.1f}×"])
    head = ["fit", "objective", "peer's", "s", "peer s", "ratio", "CPU s", "peer CPU s", "CPU ratio"]
    return f"one fit, C = {C:g}, medians of {repeats}\n\n{markdown_table(head, table)}"


def optimum(task: Task, matrix: Any, strengths: tuple[float, ...] = (0.1, 10.0, 1000.0)) -> str:
    """How far above the minimum ours ends."""
    problem, table = problem_of(task), []
    for C in strengths:
        options = LogisticOptions(C=C)
        outcome = train(options, problem, task.classes)
        value = our_objective(outcome.predictor, problem, C)
        least = newton_reference(matrix, task.labels, C)
        table.append([f"{C:g}", f"{value:.9g}", f"{least:.9g}", f"{value / least - 1:.1e}", outcome.status[0]])
    return "optimum\n\n" + markdown_table(["C", "ours, lbfgs, tol 1e-4", "Newton, float64", "above", "state"], table)


def grid(task: Task, matrix: Any, folds: int) -> str:
    """The whole grid, once."""
    options = LogisticOptions()
    train(options.model_copy(update={"max_iter": 2}), problem_of(task), task.classes)
    (accuracy, status), ours = timed(lambda: our_grid(task, options, GRID, folds))
    peer, theirs = timed(lambda: peer_grid(task, matrix, GRID, folds))
    rows = [
        [f"{C:g}", f"{accuracy[i].mean():.4f}", f"{peer[i].mean():.4f}", ", ".join(sorted(set(status[i])))]
        for i, C in enumerate(GRID)
    ]
    head = ["C", "accuracy", "peer's", "states of the folds"]
    times = (
        f"{len(GRID)} × {folds} models: {ours[0]:.1f} s ({ours[1]:.1f} CPU s), peer {theirs[0]:.1f} s ({theirs[1]:.1f}"
        f" CPU s): {theirs[0] / ours[0]:.1f}× by the clock, {theirs[1] / ours[1]:.1f}× in CPU seconds"
    )
    return f"grid\n\n{markdown_table(head, rows)}\n\n{times}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="20news")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--untested", action="store_true", help="the tests were run before, and are not run again")
    parser.add_argument("--folds", type=int, default=5, help="folds that part grid trains, of 5")
    given = parser.parse_args()
    if not given.untested:
        require_green(TESTS)
    torch.set_num_threads(given.threads)
    task = load_task(given.data, TFIDF, 5)
    matrix = as_given_to_peers(task)
    print(f"\n{given.data}, {surroundings(torch.device('cpu'))}", flush=True)
    for part in [given.only] if given.only else ["fit", "optimum", "svm"]:
        if part == "fit":
            text = fit(task, matrix, given.repeats)
        elif part == "optimum":
            text = optimum(task, matrix)
        elif part == "grid":
            text = grid(task, matrix, given.folds)
        else:
            text = svm(task, given.data, matrix, given.repeats)
        print(f"\n{text}", flush=True)


if __name__ == "__main__":
    main()
