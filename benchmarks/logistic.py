"""One logistic regression and one joint SVM on 20 Newsgroups beside scikit-learn, to the same or a better objective.

    python -m benchmarks.logistic [--C 10] [--threads 2]        (needs the measuring data)

Logistic: ours (lbfgs, and dcd) until the objective is not above the one at which LogisticRegression(lbfgs, tol 1e-4)
stopped; same matrix, same C, offset not penalised on either side. SVM: ours and LinearSVC(multi_class=
"crammer_singer"), which is liblinear's MCSVM_CS, on one thread, without an offset; ours to a relative duality gap of
0.1, the peer with its default tolerance; the primal objective of both is shown. Processor seconds count all threads.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch

from benchmarks.green import require_green
from benchmarks.linear import TFIDF
from benchmarks.linear_tasks import Task, as_given_to_peers, load_task
from benchmarks.measure import markdown_table, surroundings, timed
from gpuclf.features.views import fit_views
from gpuclf.models.learner import LearnerOptions, Problem, Replicas
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.linear.svm import SvmOptions
from gpuclf.models.train_options import TrainOptions

TESTS = ["tests/ops/test_linear_training_ops.py", "tests/models/test_regularised.py"]


def problem_of(task: Task) -> Problem:
    """One replica on all documents."""
    labels = torch.from_numpy(task.labels)
    everyone = torch.ones(1, task.rows.num_docs, dtype=torch.bool)
    views = fit_views(task.rows, labels, len(task.classes), everyone, task.features)
    one = torch.zeros(1, dtype=torch.int64)
    return Problem(task.rows, labels, torch.from_numpy(task.keys), len(task.classes), views, Replicas(one, one.clone()))


def train(options: LearnerOptions, problem: Problem, names: tuple[str, ...], goal: float) -> tuple[float, int]:
    """Objective and steps, until it is at most `goal` or the learner has finished."""
    learner = options.build(TrainOptions(), names)
    state: Any = learner.init(problem)
    steps, value = 0, float("inf")
    while value > goal and steps < (options.max_steps(TrainOptions()) or 1):
        state = learner.step(problem, state)
        steps += 1
        value = float(learner.progress(problem, state)["objective"])
        if bool(learner.finished(problem, state)):
            break
    return value, steps


def logistic_objective(model: Any, matrix: Any, labels: Any, C: float) -> float:
    scores = matrix @ model.coef_.T + model.intercept_
    top = scores.max(axis=1, keepdims=True)
    partition = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0]
    losses = partition - scores[np.arange(len(labels)), labels]
    return float(C * losses.sum() + 0.5 * (model.coef_**2).sum())


def margin_objective(model: Any, matrix: Any, labels: Any, C: float) -> float:
    scores = matrix @ model.coef_.T
    rows = np.arange(len(labels))
    own = scores[rows, labels]
    rivals = scores + 1.0
    rivals[rows, labels] = own
    return float(C * (rivals.max(axis=1) - own).sum() + 0.5 * (model.coef_**2).sum())


def main() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="20news")
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    require_green(TESTS)
    torch.set_num_threads(given.threads)
    task = load_task(given.data, TFIDF, 5)
    problem, matrix, names = problem_of(task), as_given_to_peers(task), task.classes
    table = []

    def add(name: str, value: float, steps: int, seconds: tuple[float, float]) -> None:
        table.append([name, f"{value:.6g}", str(steps), f"{seconds[0]:.2f}", f"{seconds[1]:.2f}"])

    peer, spent = timed(lambda: LogisticRegression(C=given.C, tol=1e-4, max_iter=500).fit(matrix, task.labels))
    goal = logistic_objective(peer, matrix, task.labels, given.C)
    add("scikit-learn lbfgs", goal, int(np.max(peer.n_iter_)), spent)
    for optimizer in ("lbfgs", "dcd"):
        options = LogisticOptions(C=given.C, optimizer=optimizer)
        train(options.model_copy(update={"max_iter": 2}), problem, names, 0.0)  # compiles the kernels
        (value, steps), spent = timed(lambda options=options: train(options, problem, names, goal))  # type: ignore[misc]
        add(f"ours, {optimizer}", value, steps, spent)
    torch.set_num_threads(1)
    svm = LinearSVC(multi_class="crammer_singer", C=1.0, fit_intercept=False, random_state=0)
    peer, spent = timed(lambda: svm.fit(matrix, task.labels))
    add("liblinear MCSVM_CS", margin_objective(peer, matrix, task.labels, 1.0), int(np.max(peer.n_iter_)), spent)
    margin = SvmOptions(C=1.0, offset=False, tol=0.1)
    train(margin.model_copy(update={"max_iter": 2}), problem, names, 0.0)
    (value, steps), spent = timed(lambda: train(margin, problem, names, 0.0))
    add("ours, svm dcd, gap 0.1", value, steps, spent)
    print(f"\n{given.data}, C = {given.C:g}, {given.threads} threads (svm 1), {surroundings(torch.device('cpu'))}\n")
    print(markdown_table(["fit", "objective", "steps", "s", "CPU s"], table))


if __name__ == "__main__":
    main()
