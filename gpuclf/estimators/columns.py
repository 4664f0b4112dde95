"""Columns of categories and numbers, as users hand them over → codes, one vocabulary a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from gpuclf.features.rows import CodeRows

_MOST_CELLS = 1 << 29  # of a sparse matrix laid out


class ColumnCoder:
    """Codes for the columns of a matrix (docs, M): what `fit` has seen, in order; 0 is a category that it had not.

    categorical (M,) bool: columns whose values are categories; the others are numbers, whose code is that of the least
    known number that is not below them (of the greatest for numbers above all); nan is code 0.
    """

    def __init__(self, categorical: NDArray[np.bool_]):
        self.categorical = categorical
        self._codes: dict[int, dict[Any, int]] = {}
        self._numbers: dict[int, NDArray[np.float64]] = {}

    def fit(self, X: Any, owner: str) -> CodeRows:
        """The coded matrix, whose values are noted. X: checked by scikit-learn; ValueError for infinite numbers."""
        for place, categorical in enumerate(self.categorical):
            if categorical:
                known = _in_order({_value(cell) for cell in _column(X, place)})
                self._codes[place] = {value: code for code, value in enumerate(known, start=1)}
            else:
                column = _as_numbers(X, place, owner)
                self._numbers[place] = np.unique(column[~np.isnan(column)])
        return self.codes(X, owner)

    def codes(self, X: Any, owner: str) -> CodeRows:
        """The coded matrix under what was noted."""
        out = np.zeros((X.shape[0], len(self.categorical)), dtype=np.int32)
        for place, categorical in enumerate(self.categorical):
            if categorical:
                code = self._codes[place]
                out[:, place] = [code.get(_value(cell), 0) for cell in _column(X, place)]
            else:
                known = self._numbers[place]
                column = _as_numbers(X, place, owner)
                found = np.minimum(np.searchsorted(known, column, side="left"), known.size - 1)
                out[:, place] = np.where(np.isnan(column), 0, found + 1)
        sizes = [len(self._codes[i] if c else self._numbers[i]) for i, c in enumerate(self.categorical)]
        return CodeRows(
            torch.from_numpy(out), tuple(1 + size for size in sizes), tuple(bool(c) for c in ~self.categorical)
        )


def categorical_columns(X: Any, asked: str | Sequence[bool] | Sequence[int] | None) -> NDArray[np.bool_]:
    """(M,) bool: which columns of a checked matrix are categories. from_dtype: all columns of text, objects, whole
    numbers and truth values; all; None for no column; or a mask, or column numbers."""
    count = X.shape[1]
    if asked is None:
        return np.zeros(count, dtype=np.bool_)
    if isinstance(asked, str):
        if asked == "all":
            return np.ones(count, dtype=np.bool_)
        if asked == "from_dtype":
            return np.full(count, X.dtype.kind != "f")
        raise ValueError(f"categorical_features = {asked!r}: give from_dtype, all, None, a mask or column numbers")
    given = np.asarray(asked)
    if given.dtype == np.bool_ and given.shape == (count,):
        return given
    if given.ndim == 1 and given.dtype.kind in "iu" and (given.size == 0 or (given.min() >= 0 and given.max() < count)):
        mask = np.zeros(count, dtype=np.bool_)
        mask[given] = True
        return mask
    raise ValueError(f"categorical_features = {asked!r} is no mask and no list of numbers of {count} columns")


def laid_out(X: Any) -> Any:
    """A sparse matrix as a dense one, what it leaves out being 0; other matrices as they are."""
    if not scipy.sparse.issparse(X):
        return X
    if X.shape[0] * X.shape[1] > _MOST_CELLS:
        raise ValueError(
            f"trees need the matrix laid out; {X.shape[0]} x {X.shape[1]} is more than {_MOST_CELLS} cells"
        )
    return X.toarray()


def _column(X: Any, place: int) -> list[Any]:
    cells: list[Any] = X[:, place].tolist()
    return cells


def _value(cell: Any) -> Any:
    """The category of a cell: None and nan are one."""
    missing = cell is None or (isinstance(cell, float) and cell != cell)
    return None if missing else cell


def _in_order(values: set[Any]) -> list[Any]:
    """Categories in an order that their rows have no part in; missing ones first."""
    there = values - {None}
    try:
        ordered = sorted(there)
    except TypeError:  # of several types
        ordered = sorted(there, key=lambda value: (type(value).__name__, repr(value)))
    return [None] * (None in values) + ordered


def _as_numbers(X: Any, place: int, owner: str) -> NDArray[np.float64]:
    column = X[:, place].astype(np.float64)
    assert_all_finite(column, allow_nan=True, estimator_name=owner, input_name="X")
    return np.asarray(column)
