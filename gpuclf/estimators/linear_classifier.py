"""What all estimators share: checked inputs, predictions, coefficients. Abstract; the learners are final classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight as checked_weights
from sklearn.utils.validation import check_is_fitted, validate_data

from gpuclf.estimators.inputs import sparse_rows, without_torch
from gpuclf.estimators.setup import Setup
from gpuclf.estimators.training import DIVERGED_MESSAGE, Rows, Trained, train_one
from gpuclf.features.rows import sparse_to
from gpuclf.metrics.ranking import log_probabilities
from gpuclf.models.learner import Learner
from gpuclf.models.linear.bernoulli_predictor import BernoulliPredictor
from gpuclf.models.linear.predictor import LinearPredictor

FloatArray = NDArray[np.floating[Any]]


class Checked(NamedTuple):
    """Training data: the matrix as scikit-learn lets it through, the classes, their names, and the rows."""

    X: Any
    classes: NDArray[Any]
    data: Rows


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores x·W of K classes, the offset included (Eisenstein 2018, eq. 2.1).

    classes_ (K,) sorted, as given; n_features_in_ V; n_iter_ steps taken. coef_ and intercept_ have scikit-learn's
    shapes: (1, V) and (1,) for two classes, where a positive decision means classes_[1]; (K, V) and (K,) for more.
    Inputs may be numpy, scipy sparse or torch; outputs are numpy arrays. Values are float32 inside.
    """

    _has_optimum: ClassVar[bool] = False  # a fit ends near an optimum, or warns that it does not

    def _setup(self) -> Setup:
        raise AssertionError(f"{type(self).__name__} has no _setup()")

    def _checked(self, X: Any, y: Any, sample_weight: Any = None) -> Checked:
        """Training data of a fit; notes the features. ValueError with the reason for what cannot be learnt from."""
        X, y = without_torch(X), without_torch(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes; y holds one class: {classes[0]!r}"
            )
        data = Rows(sparse_rows(X), labels.astype(np.int64), class_names(classes))
        if sample_weight is None:
            return Checked(X, classes, data)
        weights = checked_weights(without_torch(sample_weight), X, dtype=np.float64, ensure_non_negative=True)
        return Checked(X, classes, replace(data, weights=weights))

    def _fit(
        self, X: Any, y: Any, adapted: Callable[[Learner], Learner] = lambda learner: learner, sample_weight: Any = None
    ) -> Self:
        setup = self._setup()
        checked = self._checked(X, y) if sample_weight is None else self._checked(X, y, sample_weight)
        trained = train_one(checked.data, setup, adapted)
        self._adopt(checked.classes, trained)
        if trained.at_limit and self._has_optimum:
            _warn_of_limit(self, trained)
        return self

    def _adopt(self, classes: NDArray[Any], trained: Trained) -> None:
        """Becomes the trained model."""
        if trained.diverged:
            raise ValueError(f"{type(self).__name__}: {DIVERGED_MESSAGE}")
        self.classes_ = classes
        self.n_iter_ = trained.steps
        assert isinstance(trained.predictor, LinearPredictor | BernoulliPredictor)
        self.predictor_ = trained.predictor

    def note_features_of(self, other: LinearClassifier) -> None:
        """Takes over what `other` has noted of the features of its data."""
        for name in ("n_features_in_", "feature_names_in_"):
            if name in vars(other):
                setattr(self, name, getattr(other, name))

    def _scores(self, X: Any) -> FloatArray:
        """Scores (n, K) float32."""
        check_is_fitted(self)
        X = validate_data(self, without_torch(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        device = self.predictor_.weights.device
        rows = sparse_to(sparse_rows(X), device)
        scores = self.predictor_.scores(rows, torch.arange(rows.num_docs, device=device), None, None)
        return scores[0].cpu().numpy()

    def decision_function(self, X: Any) -> FloatArray:
        """(n,) for two classes, score of classes_[1] minus that of classes_[0]; else the scores (n, K)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score (n,); ties go to the first class."""
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    @property
    def coef_(self) -> FloatArray:
        """Weights of the features (1, V) or (K, V), float64."""
        return self._by_class()[:, 1:]

    @property
    def intercept_(self) -> FloatArray:
        """Weights of the offset (1,) or (K,), float64."""
        return self._by_class()[:, 0]

    def _by_class(self) -> FloatArray:
        if "predictor_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit first")
        weights = self.predictor_.weights[:, 0].T.cpu().numpy().astype(np.float64)
        return weights[1:] - weights[:1] if len(self.classes_) == 2 else weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class WithProbabilities:
    """predict_proba for learners whose softmax of the scores is P(class | row)."""

    def predict_log_proba(self, X: Any) -> FloatArray:
        """log P(class | row) (n, K), columns as in classes_, float64."""
        scores = self._scores(X)  # type: ignore[attr-defined]
        return log_probabilities(torch.from_numpy(scores)).numpy()

    def predict_proba(self, X: Any) -> FloatArray:
        """P(class | row) (n, K), columns as in classes_, float64."""
        return np.exp(self.predict_log_proba(X))


def class_names(classes: NDArray[Any]) -> tuple[str, ...]:
    """Names by which cost matrices and class weights tell the classes apart."""
    return tuple(str(name) for name in classes.tolist())


def _warn_of_limit(estimator: LinearClassifier, trained: Trained) -> None:
    """Warns as scikit-learn does where the number of iterations ended a fit, and not that it came near enough."""
    warnings.warn(
        f"{type(estimator).__name__} has not converged in {trained.steps} iterations; raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )
