"""All cells × folds of a grid search, trained as few batches as their structure allows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone

from gpuclf.estimators.inputs import sparse_rows
from gpuclf.estimators.linear_classifier import Checked, LinearClassifier, class_names
from gpuclf.estimators.setup import Setup
from gpuclf.estimators.training import Rows, train_many

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Fitted:
    """The estimator of one cell and fold, or why there is none, and its share of the seconds of its batch."""

    estimator: LinearClassifier | None
    fault: ValueError | None
    seconds: float


class Fold(NamedTuple):
    """A fold's training rows in one of the matrices that are trained on, and the classes that occur there."""

    matrix: int
    mask: NDArray[np.bool_]
    classes: tuple[int, ...]


def fit_folds(
    estimators: Sequence[LinearClassifier], template: LinearClassifier, checked: Checked, folds: Sequence[Indices]
) -> list[list[Fitted]]:
    """The estimators (cells) fitted to each fold's training rows: result[cell][fold], as if by fit on X[rows].

    `template` knows the features of the data `checked`. Folds whose rows rise share one matrix and are trained
    together; one that has them in another order, or a row twice, is trained on a matrix of its own.
    """
    setups, faults = _setups(estimators)
    matrices, placed = _placed(checked, folds)
    groups: dict[tuple[str, int, tuple[int, ...]], list[tuple[int, int]]] = {}
    result: dict[tuple[int, int], Fitted] = {}
    for cell, setup in enumerate(setups):
        for number, fold in enumerate(placed):
            fault = faults.get(cell)
            if len(fold.classes) < 2:
                fault = ValueError("the training rows of the fold hold a single class")
            if fault is not None or setup is None:
                result[cell, number] = Fitted(None, fault, 0.0)
            else:
                groups.setdefault((setup.structure, fold.matrix, fold.classes), []).append((cell, number))
    for (_, matrix, classes), pairs in groups.items():
        began = time.perf_counter()
        chosen = np.asarray(classes)
        place = np.full(len(checked.classes), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        own = matrices[matrix]
        data = Rows(own.rows, place[own.labels], class_names(checked.classes[chosen]))
        numbers = sorted({number for _, number in pairs})
        masks = torch.from_numpy(np.stack([placed[number].mask for number in numbers]))
        models = [setups[cell] for cell, _ in pairs]
        trained = train_many(data, masks, models, [numbers.index(number) for _, number in pairs])  # type: ignore[arg-type]
        seconds = (time.perf_counter() - began) / len(pairs)
        for (cell, number), model in zip(pairs, trained, strict=True):
            fitted = clone(estimators[cell])
            fitted.note_features_of(template)
            try:
                fitted._adopt(checked.classes[chosen], model)
                result[cell, number] = Fitted(fitted, None, seconds)
            except ValueError as fault:
                result[cell, number] = Fitted(None, fault, seconds)
    return [[result[cell, number] for number in range(len(folds))] for cell in range(len(estimators))]


def _setups(estimators: Sequence[LinearClassifier]) -> tuple[list[Setup | None], dict[int, ValueError]]:
    setups: list[Setup | None] = []
    faults: dict[int, ValueError] = {}
    for cell, estimator in enumerate(estimators):
        try:
            setups.append(estimator._setup())
        except ValueError as fault:
            setups.append(None)
            faults[cell] = fault
    return setups, faults


def _placed(checked: Checked, folds: Sequence[Indices]) -> tuple[list[Rows], list[Fold]]:
    """The matrices (the whole one first) and where each fold's rows are in them."""
    data = checked.data
    matrices, placed = [data], []
    for rows in folds:
        labels = data.labels[rows]
        classes = tuple(np.unique(labels).tolist())
        if (np.diff(rows) > 0).all():
            mask = np.zeros(data.rows.num_docs, dtype=np.bool_)
            mask[rows] = True
            placed.append(Fold(0, mask, classes))
        else:
            placed.append(Fold(len(matrices), np.ones(len(rows), dtype=np.bool_), classes))
            matrices.append(Rows(sparse_rows(_rows_of(checked.X, rows)), labels, data.class_names))
    return matrices, placed


def _rows_of(X: Any, rows: Indices) -> Any:
    return X[rows]
