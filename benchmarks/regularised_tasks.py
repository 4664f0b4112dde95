"""What benchmarks/logistic.py measures: fits and grids of ours and of scikit-learn, and a reference written apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.linear_tasks import Task, data_file, train_masks
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.features.encoder import fit_encoder
from gpuclf.features.views import fit_views, row_scale_of
from gpuclf.models.learner import LearnerOptions, Problem, Replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.class_loss import class_loss
from gpuclf.train.held_out import HeldOutRows
from gpuclf.train.loop import BatchLoop, BatchOutcome

_PROMISED = 1e-9  # of the objective: a Newton step that promises less ends the reference


def problem_of(task: Task) -> Problem:
    """One replica on all documents."""
    everyone = torch.ones(1, task.rows.num_docs, dtype=torch.bool)
    one = torch.zeros(1, dtype=torch.int64)
    return _problem(task, everyone, Replicas(one, one.clone()))


def _problem(task: Task, masks: Tensor, replicas: Replicas) -> Problem:
    labels = torch.from_numpy(task.labels)
    views = fit_views(task.rows, labels, len(task.classes), masks, task.features)
    return Problem(task.rows, labels, torch.from_numpy(task.keys), len(task.classes), views, replicas)


def train(options: LearnerOptions, problem: Problem, names: tuple[str, ...]) -> BatchOutcome:
    """To the end that the options say."""
    given = TrainOptions(evaluate_every=options.evaluate_every)  # as `gpuclf train` does
    loop = BatchLoop(options.build(given, names), problem, given, options.max_steps(given))
    return loop.run(lambda report, running: None)


def our_objective(predictor: Any, problem: Problem, C: float, loss: str = "logistic") -> float:
    """C · Σ loss + ½‖W‖² of the float32 weights, in float64."""
    views = problem.views
    assert views.col_scale is not None
    assert views.row_scale is not None
    docs = torch.arange(problem.labels.numel())
    scores = predictor.scores(problem.rows, docs, views.col_scale[0], views.row_scale[0])
    ones = torch.ones((docs.numel(), 1), dtype=torch.float64)
    value, _ = class_loss(loss, scores.permute(1, 0, 2).double().contiguous(), problem.labels, ones, None)
    return float(C * value[0] + 0.5 * predictor.weights[1:].double().square().sum())


def logistic_objective(
    weights: NDArray[np.float64], offset: NDArray[np.float64], matrix: Any, labels: NDArray[np.int64], C: float
) -> float:
    """C · Σ loss + ½‖W‖² of weights (V, K)."""
    losses, _ = _losses(matrix @ weights + offset, labels)
    return float(C * losses.sum() + 0.5 * (weights**2).sum())


def margin_objective(weights: NDArray[np.float64], matrix: Any, labels: NDArray[np.int64], C: float) -> float:
    """C · Σ loss + ½‖W‖² of weights (V, K) without an offset."""
    scores = matrix @ weights
    rows = np.arange(len(labels))
    own = scores[rows, labels]
    rivals = scores + 1.0
    rivals[rows, labels] = own
    return float(C * (rivals.max(axis=1) - own).sum() + 0.5 * (weights**2).sum())


def _losses(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logistic losses (n,) and probabilities (n, K)."""
    top = scores.max(axis=1, keepdims=True)
    sizes = np.exp(scores - top)
    total = sizes.sum(axis=1, keepdims=True)
    return (np.log(total) + top)[:, 0] - scores[np.arange(len(labels)), labels], sizes / total


def newton_reference(matrix: scipy.sparse.csr_matrix, labels: NDArray[np.int64], C: float) -> float:
    """The least objective, by Newton's method in float64 with conjugate gradients and halved steps.

    Stronger penalties come first, each from the optimum of the one before: from 0, Newton steps at a great C are long.
    """
    classes = int(labels.max()) + 1
    with_offset = scipy.sparse.hstack([matrix, np.ones((matrix.shape[0], 1))], format="csr")
    weights = np.zeros((with_offset.shape[1], classes))
    strength, value = min(C, 1.0), np.inf
    while True:
        weights, value = _newton(with_offset, labels, strength, weights)
        if strength >= C:
            return value
        strength = min(C, 10 * strength)


def _newton(
    x: scipy.sparse.csr_matrix, labels: NDArray[np.int64], C: float, w: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    transposed, squares = x.T.tocsr(), x.multiply(x).T.tocsr()
    penalised = np.ones((x.shape[1], 1))
    penalised[-1] = 0
    own = np.eye(w.shape[1])[labels]

    def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        losses, p = _losses(x @ point, labels)
        return float(C * losses.sum() + 0.5 * (penalised * point**2).sum()), p

    value, p = objective(w)
    while True:
        gradient = transposed @ (C * (p - own)) + penalised * w
        diagonal = squares @ (C * p * (1 - p)) + penalised
        step, residual = np.zeros_like(w), -gradient
        search = residual / diagonal
        size = (residual * search).sum()
        first = size
        for _ in range(1000):
            along = x @ search
            bent = transposed @ (C * p * (along - (p * along).sum(1, keepdims=True))) + penalised * search
            length = size / (search * bent).sum()
            step += length * search
            residual -= length * bent
            fresh = (residual * residual / diagonal).sum()
            search = residual / diagonal + fresh / size * search
            size = fresh
            if size <= 1e-6 * first:
                break
        promised = -(gradient * step).sum()
        factor = 1.0
        while True:
            reached, q = objective(w + factor * step)
            if reached <= value - 1e-4 * factor * promised or factor < 1e-6:
                break
            factor /= 2
        if reached < value:
            w, value, p = w + factor * step, reached, q
        if promised <= 2 * _PROMISED * value or factor < 1e-6:
            return w, value


def our_grid(
    task: Task, options: LearnerOptions, values: tuple[float, ...], folds: int
) -> tuple[NDArray[np.float64], list[list[str]]]:
    """Held-out accuracy and state (cells, folds) of the first `folds` folds, as one batch."""
    cells = len(values)
    replicas = Replicas(
        view=torch.arange(folds).repeat_interleave(cells),
        seed=torch.zeros(folds * cells, dtype=torch.int64),
        options={"model.C": torch.tensor(values, dtype=torch.float64).repeat(folds)},
    )
    problem = _problem(task, train_masks(task)[:folds], replicas)
    outcome = train(options, problem, task.classes)
    held_out = HeldOutRows(problem, problem.labels, problem.num_classes).metrics(outcome.predictor, replicas)
    states = [[outcome.status[fold * cells + cell] for fold in range(folds)] for cell in range(cells)]
    return held_out["accuracy"].numpy().reshape(folds, cells).T, states


def peer_grid(task: Task, matrix: Any, values: tuple[float, ...], folds: int) -> NDArray[np.float64]:
    """Held-out accuracy (cells, folds) of GridSearchCV(LogisticRegression(lbfgs), n_jobs=2) on the same folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    splits = [(np.flatnonzero(task.folds != fold), np.flatnonzero(task.folds == fold)) for fold in range(folds)]
    model = LogisticRegression(tol=1e-4, max_iter=500)
    search = GridSearchCV(model, {"C": list(values)}, cv=splits, n_jobs=2, refit=False, scoring="accuracy")
    search.fit(matrix, task.labels)
    results = search.cv_results_
    return np.stack([results[f"split{fold}_test_score"] for fold in range(folds)], axis=1)


def right_on_test_file(task: Task, data_set: str, problem: Problem, predictor: Any) -> NDArray[np.bool_]:
    """Which documents of the test file beside the training file are classified right; idf of the training documents."""
    training = data_file(data_set)
    form = {"format": "tsv", "header": False, "columns": ["label", "text"]}
    options = [
        DataOptions.model_validate({"train": file} | form)
        for file in (training, str(Path(training).with_name("test.tsv.gz")))
    ]
    encoder, _ = fit_encoder(open_reader(options[0].train, options[0]).chunks(), task.features)
    encoded = encoder.encode(open_reader(options[1].train, options[1]).chunks())
    assert problem.views.col_scale is not None
    assert encoded.labels is not None
    col_scale = problem.views.col_scale[0]
    row_scale = row_scale_of(encoded.rows, col_scale, task.features)
    scores = predictor.scores(encoded.rows, torch.arange(len(encoded.labels)), col_scale, row_scale)
    return scores[0].argmax(1).numpy() == np.array([task.classes.index(label) for label in encoded.labels])
