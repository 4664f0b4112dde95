"""Grid search with cross-validation in which all cells and folds are trained as one batch of models."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import _safe_indexing as rows_of
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, indexable

from gpuclf.estimators.fold_training import Fitted, fit_folds
from gpuclf.estimators.inputs import without_torch
from gpuclf.estimators.linear_classifier import LinearClassifier


def _estimator_has(name: str) -> Callable[[Any], bool]:
    def has(search: Any) -> bool:
        if not search.refit and "cv_results_" in vars(search):
            raise AttributeError(f"{name} needs the best estimator, fitted to all rows: set refit=True")
        getattr(search.best_estimator_ if "best_estimator_" in vars(search) else search.estimator, name)
        return True

    return has


class BatchedGridSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """GridSearchCV for the estimators of this package, with the same scores and attributes, in a fraction of the time.

    estimator: one of `gpuclf.estimators`. param_grid, scoring (one metric), refit, cv, error_score as in GridSearchCV.
    Parameters that are numbers of a rule (C, gamma, alpha, random_state …) share a batch; others split it. After fit:
    cv_results_, best_params_, best_score_, best_index_, best_estimator_ (fitted to all rows), n_splits_, scorer_. Fit
    times are shares of a batch's time.
    """

    def __init__(
        self,
        estimator: LinearClassifier,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        scoring: str | Callable[..., float] | None = None,
        refit: bool = True,
        cv: Any = None,
        error_score: float | Literal["raise"] = np.nan,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.refit = refit
        self.cv = cv
        self.error_score = error_score

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Trains and scores every cell on every fold, then the best cell on all rows."""
        if not isinstance(self.estimator, LinearClassifier):
            raise TypeError(f"{type(self.estimator).__name__} is no estimator of gpuclf.estimators; use GridSearchCV")
        X, y, groups = indexable(without_torch(X), without_torch(y), groups)
        self.scorer_ = check_scoring(self.estimator, self.scoring)
        template = clone(self.estimator)
        checked = template._checked(X, y)
        splitter = check_cv(self.cv, y, classifier=True)
        splits = list(splitter.split(X, y, groups))
        cells = list(ParameterGrid(self.param_grid))
        estimators = [clone(self.estimator).set_params(**clone(cell, safe=False)) for cell in cells]
        fitted = fit_folds(estimators, template, checked, [train for train, _ in splits])
        self._tell(fitted)
        scores, seconds = self._scored(fitted, X, y, [test for _, test in splits])
        self.n_splits_, self.multimetric_ = len(splits), False
        self.cv_results_ = _results(cells, scores, np.array([[f.seconds for f in row] for row in fitted]), seconds)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = cells[self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        if self.refit:
            began = time.perf_counter()
            self.best_estimator_ = clone(estimators[self.best_index_]).fit(X, y)
            self.refit_time_ = time.perf_counter() - began
        return self

    def _tell(self, fitted: Sequence[Sequence[Fitted]]) -> None:
        """Raises or warns of fits that failed; raises where all did."""
        faults = [fit.fault for row in fitted for fit in row if fit.fault is not None]
        if not faults:
            return
        if self.error_score == "raise":
            raise faults[0]
        count = sum(len(row) for row in fitted)
        message = f"{len(faults)} of {count} fits failed; the first: {faults[0]}"
        if len(faults) == count:
            raise ValueError(message) from faults[0]
        warnings.warn(f"{message}; their score is {self.error_score}", FitFailedWarning, stacklevel=3)

    def _scored(
        self, fitted: Sequence[Sequence[Fitted]], X: Any, y: Any, tests: Sequence[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores and the seconds they took (cells, folds)."""
        scores = np.full((len(fitted), len(tests)), self.error_score if self.error_score != "raise" else np.nan)
        seconds = np.zeros_like(scores)
        for fold, rows in enumerate(tests):
            held_out, gold = rows_of(X, rows), rows_of(y, rows)
            for cell, row in enumerate(fitted):
                began = time.perf_counter()
                if row[fold].estimator is not None:
                    scores[cell, fold] = self.scorer_(row[fold].estimator, held_out, gold)
                seconds[cell, fold] = time.perf_counter() - began
        return scores, seconds

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> NDArray[Any]:
        """As the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """As the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """As the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """As the best estimator does."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """The best estimator's, by the metric of the search."""
        check_is_fitted(self)
        return float(self.scorer_(self.best_estimator_, without_torch(X), without_torch(y)))

    @property
    def classes_(self) -> NDArray[Any]:
        """Those of the best estimator."""
        return self._best.classes_

    @property
    def n_features_in_(self) -> int:
        """Those of the best estimator."""
        return self._best.n_features_in_

    @property
    def _best(self) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet, or was with refit=False")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
        tags.target_tags.required = True
        tags.input_tags.sparse, tags.input_tags.positive_only = own.input_tags.sparse, own.input_tags.positive_only
        return tags


def _results(
    cells: Sequence[Mapping[str, Any]],
    scores: NDArray[np.float64],
    fit_seconds: NDArray[np.float64],
    score_seconds: NDArray[np.float64],
) -> dict[str, Any]:
    """cv_results_ as GridSearchCV lays it out."""
    results: dict[str, Any] = {}
    for name, seconds in (("fit", fit_seconds), ("score", score_seconds)):
        results[f"mean_{name}_time"] = seconds.mean(axis=1)
        results[f"std_{name}_time"] = seconds.std(axis=1)
    for name in sorted({name for cell in cells for name in cell}):
        column: Any = np.ma.masked_all(len(cells), dtype=object)
        for place, cell in enumerate(cells):
            if name in cell:
                column[place] = cell[name]
        results[f"param_{name}"] = column
    results["params"] = list(cells)
    for fold in range(scores.shape[1]):
        results[f"split{fold}_test_score"] = scores[:, fold]
    mean = scores.mean(axis=1)
    results["mean_test_score"] = mean
    results["std_test_score"] = np.sqrt(np.mean((scores - mean[:, None]) ** 2, axis=1))
    known = np.nan_to_num(mean, nan=np.nanmin(mean) - 1 if not np.isnan(mean).all() else 0.0)
    results["rank_test_score"] = rankdata(-known, method="min").astype(np.int32)
    return results
