"""What benchmarks/linear.py measures: a grid times folds of linear models, trained by us and by scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

from benchmarks.green import ROOT
from gpuclf.data.class_order import class_order
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.splits import document_keys, fold_of
from gpuclf.features.encoder import fit_encoder
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.rows import SparseRows, Views, sparse_to
from gpuclf.features.views import fit_views
from gpuclf.models.learner import LearnerOptions, Problem, Replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.held_out import HeldOutRows

BUNDLED = "banking77"


@dataclass(frozen=True)
class Task:
    """A data set, encoded once, with its folds; `features` says what is learnt from each fold's training rows."""

    rows: SparseRows
    labels: NDArray[np.int64]
    keys: NDArray[np.int64]
    classes: tuple[str, ...]
    folds: NDArray[np.int64]
    features: BagOfWordsOptions

    @property
    def num_folds(self) -> int:
        return int(self.folds.max()) + 1


@dataclass(frozen=True)
class Grid:
    """A learner and the values of the option that is tried; `steps` rounds of training."""

    learner: LearnerOptions
    key: str
    values: tuple[float, ...]
    steps: int


def data_file(data_set: str) -> str:
    """The training file of a data set: the bundled one, or from $GPUCLF_DATA or ../shared/data beside the checkout."""
    if data_set == BUNDLED:
        return f"bundled:{BUNDLED}/train.tsv.gz"
    folder = Path(os.environ.get("GPUCLF_DATA") or ROOT.parent / "shared" / "data")
    file = folder / "text" / data_set / "train.tsv.gz"
    if not file.is_file():
        raise SystemExit(f"{file} is not there; set GPUCLF_DATA to the folder that holds text/{data_set}")
    return str(file)


def load_task(data_set: str, features: BagOfWordsOptions, folds: int) -> Task:
    """Reads and encodes the training file and deals its documents to stratified folds."""
    data = DataOptions.model_validate(
        {"train": data_file(data_set), "format": "tsv", "header": False, "columns": ["label", "text"]}
    )
    _, encoded = fit_encoder(open_reader(data.train, data).chunks(), features)
    assert encoded.labels is not None, "a training file has labels"
    assert isinstance(encoded.rows, SparseRows), "a bag of words is sparse"
    classes = class_order(encoded.labels)
    position = {name: index for index, name in enumerate(classes)}
    labels = np.array([position[label] for label in encoded.labels], dtype=np.int64)
    keys = document_keys(encoded.ids)
    fold = fold_of(keys, labels, None, k=folds, seed=0, stratified=True, allow_small=True, class_names=classes)
    return Task(encoded.rows, labels, keys, classes, fold, features)


def train_masks(task: Task) -> torch.Tensor:
    """(folds, docs) bool: fold f trains on all documents but its own."""
    return torch.from_numpy(task.folds[None, :] != np.arange(task.num_folds)[:, None])


def our_problem(task: Task, grid: Grid, device: torch.device) -> Problem:
    """All cells × folds as one batch on the device, each fold with the idf and norms of its own training rows.

    What peers get ready-made as well, and so no part of what is timed.
    """
    labels = torch.from_numpy(task.labels)
    fitted = fit_views(task.rows, labels, len(task.classes), train_masks(task), task.features)
    cells = len(grid.values)
    replicas = Replicas(
        view=torch.arange(task.num_folds).repeat_interleave(cells),
        seed=torch.zeros(task.num_folds * cells, dtype=torch.int64),
        options={grid.key: torch.tensor(grid.values, dtype=torch.float64).repeat(task.num_folds)},
    )
    return Problem(
        rows=sparse_to(task.rows, device),
        labels=labels.to(device),
        keys=torch.from_numpy(task.keys).to(device),
        num_classes=len(task.classes),
        views=_views_to(fitted, device),
        replicas=replicas.to(device),
    )


def our_accuracies(problem: Problem, task: Task, grid: Grid) -> NDArray[np.float64]:
    """(cells, folds) held-out accuracy of all models, trained as one batch from the first step on."""
    learner = grid.learner.build(TrainOptions(max_epochs=grid.steps), task.classes)
    state: Any = learner.init(problem)
    for _ in range(grid.steps):
        state = learner.step(problem, state)
    held_out = HeldOutRows(problem, problem.labels, problem.num_classes).metrics(
        learner.result(problem, state), problem.replicas
    )
    return held_out["accuracy"].cpu().numpy().reshape(task.num_folds, len(grid.values)).T


def _views_to(views: Views, device: torch.device) -> Views:
    return replace(
        views,
        train=views.train.to(device),
        col_scale=None if views.col_scale is None else views.col_scale.to(device),
        row_scale=None if views.row_scale is None else views.row_scale.to(device),
    )


def as_given_to_peers(task: Task) -> scipy.sparse.csr_matrix:
    """The same rows as a scipy matrix, weighted with statistics of all documents; what peers get ready-made."""
    everyone = torch.ones(1, task.rows.num_docs, dtype=torch.bool)
    labels = torch.from_numpy(task.labels)
    return _matrix(task.rows, fit_views(task.rows, labels, len(task.classes), everyone, task.features), 0)


def _matrix(rows: SparseRows, views: Views, view: int) -> scipy.sparse.csr_matrix:
    """The rows under one view, float64."""
    values = rows.val.to(torch.float64)
    if views.col_scale is not None:
        values = values * views.col_scale[view, rows.col.long()]
    if views.row_scale is not None:
        values = values * views.row_scale[view].repeat_interleave(rows.crow.diff())
    shape = (rows.num_docs, rows.num_features)
    return scipy.sparse.csr_matrix((values.numpy(), rows.col.numpy() - 1, rows.crow.numpy()), shape=shape)


def peer_on_our_folds(
    problem: Problem, task: Task, make_peer: Callable[..., Any], option: str, values: tuple[float, ...]
) -> NDArray[np.float64]:
    """(cells, folds) held-out accuracy of the peer where it gets, fold by fold, exactly the numbers that ours gets:
    the fold's own idf and norms, and the features of its training rows only."""
    rows, views = sparse_to(task.rows, torch.device("cpu")), _views_to(problem.views, torch.device("cpu"))
    accuracies = np.empty((len(values), task.num_folds))
    for fold in range(task.num_folds):
        matrix, train = _matrix(rows, views, fold), task.folds != fold
        known = np.flatnonzero(matrix[train].getnnz(axis=0))
        own, held_out = matrix[train][:, known], matrix[~train][:, known]
        for cell, value in enumerate(values):
            fitted = make_peer().set_params(**{option: value}).fit(own, task.labels[train])
            accuracies[cell, fold] = fitted.score(held_out, task.labels[~train])
    return accuracies


def peer_accuracies(
    task: Task, matrix: scipy.sparse.csr_matrix, estimator: Any, option: str, values: tuple[float, ...], jobs: int
) -> NDArray[np.float64]:
    """(cells, folds) held-out accuracy of scikit-learn's GridSearchCV on the same folds; nothing is fitted again."""
    from sklearn.model_selection import GridSearchCV, PredefinedSplit

    search = GridSearchCV(
        estimator, {option: list(values)}, cv=PredefinedSplit(task.folds), n_jobs=jobs, refit=False, scoring="accuracy"
    )
    search.fit(matrix, task.labels)
    return np.stack([search.cv_results_[f"split{fold}_test_score"] for fold in range(task.num_folds)], axis=1)
