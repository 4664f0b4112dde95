"""The joint (Crammer-Singer) SVM beside liblinear's, both to a relative gap of 0.1: a part of benchmarks.logistic."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.linear_tasks import Task
from benchmarks.measure import alternate, markdown_table
from benchmarks.regularised_tasks import margin_objective, our_grid, our_objective, problem_of, right_on_test_file
from gpuclf.models.learner import Problem
from gpuclf.models.linear.svm import SvmOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop, BatchOutcome

GRID = (0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
SHOWN = (0.3, 0.5, 0.7, 1.0)
GAP = 0.1
PEER_TOLS = (10.0, 5.0, 3.0, 2.0, 1.0, 0.5, 0.3, 0.2, 0.1)  # from loose to strict, the last the default of -s 4


def fitted(options: SvmOptions, problem: Problem, names: tuple[str, ...]) -> tuple[BatchOutcome, float, float]:
    """A fit, its dual objective and its relative duality gap."""
    given = TrainOptions(evaluate_every=options.evaluate_every)
    last: dict[str, torch.Tensor] = {}
    loop = BatchLoop(options.build(given, names), problem, given, options.max_steps(given))
    outcome = loop.run(lambda report, _: last.update(report.figures))
    return outcome, float(last["dual_objective"][0]), float(last["duality_gap"][0])


def svm(task: Task, data_set: str, matrix: Any, repeats: int) -> str:
    """One fit each on one thread at every C of SHOWN, and the mean accuracy over the folds for every C of GRID.

    Both without an offset, which liblinear would penalise; ours with one, as `gpuclf train` has it, stands apart.
    liblinear shows no duals: its gap is taken as that of its objective to the best dual one known (ours at a gap of
    1e-3), which is less than its duality gap, and its tolerance is the loosest of PEER_TOLS that gets there.
    """
    means = our_grid(task, SvmOptions(tol=GAP), GRID, task.num_folds)[0].mean(1)
    chosen = GRID[int(means.argmax())]
    torch.set_num_threads(1)
    problem = problem_of(task)
    rows = [row for C in sorted({*SHOWN, chosen}) for row in _rows(task, data_set, matrix, problem, C, repeats)]
    head = ["C", "fit", "objective", "duality gap", "above the best dual", "test accuracy", "CPU s"]
    picture = ", ".join(f"{C:g}: {mean:.4f}" for C, mean in zip(GRID, means, strict=True))
    return (
        f"joint svm, one thread, medians of {repeats}; C = {chosen:g} by {task.num_folds} folds ({picture})\n\n"
        + markdown_table(head, rows)
    )


def _rows(task: Task, data_set: str, matrix: Any, problem: Problem, C: float, repeats: int) -> list[list[str]]:
    """Ours without and with an offset, and liblinear, at one C."""
    names = task.classes
    plain = SvmOptions(C=C, tol=GAP, offset=False)
    least = fitted(plain.model_copy(update={"tol": 1e-3, "max_iter": 300}), problem, names)[1]
    tol, peer = _loosest_peer(matrix, task, C, least)
    rows = []
    for title, options in (("ours, no offset", plain), ("ours", plain.model_copy(update={"offset": True}))):
        ours, (outcome, _, gap), theirs, _ = alternate(
            lambda options=options: fitted(options, problem, names),  # type: ignore[misc]
            lambda: peer.fit(matrix, task.labels),
            repeats,
        )
        value = our_objective(outcome.predictor, problem, C, "margin")
        above = "-" if options.offset else f"{1 - least / value:.3f}"
        right = right_on_test_file(task, data_set, problem, outcome.predictor).mean()
        rows.append([f"{C:g}", title, f"{value:.6g}", f"{gap:.3f}", above, f"{right:.4f}", f"{ours.median_cpu:.2f}"])
    value = margin_objective(peer.coef_.T, matrix, task.labels, C)
    right = right_on_test_file(task, data_set, problem, _AsOurs(peer.coef_)).mean()
    figures = [f"{value:.6g}", "-", f"{1 - least / value:.3f}", f"{right:.4f}", f"{theirs.median_cpu:.2f}"]
    return [*rows, [f"{C:g}", f"liblinear -s 4, tol {tol:g}", *figures]]


def _loosest_peer(matrix: Any, task: Task, C: float, least: float) -> tuple[float, Any]:
    from sklearn.svm import LinearSVC

    for tol in PEER_TOLS:
        peer = LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, random_state=0, tol=tol)
        peer.fit(matrix, task.labels)
        if 1 - least / margin_objective(peer.coef_.T, matrix, task.labels, C) <= GAP:
            break
    return tol, peer


class _AsOurs:
    """liblinear's weights (K, V) with the scores of our predictors, so that it sees the same test rows."""

    def __init__(self, weights: Any):
        self._weights = torch.from_numpy(np.ascontiguousarray(weights.T))

    def scores(self, rows: Any, docs: torch.Tensor, col_scale: torch.Tensor, row_scale: torch.Tensor) -> torch.Tensor:
        from gpuclf.ops.sparse_scores import sparse_scores

        weights = torch.cat([self._weights.new_zeros(1, self._weights.shape[1]), self._weights])[:, None]
        return sparse_scores(rows.crow, rows.col, rows.val, docs, col_scale, row_scale, weights.float().contiguous())
