"""Naive Bayes as an estimator, with weights of rows: a row of weight 2 counts as two rows do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight as checked_weights
from sklearn.utils.validation import check_non_negative, validate_data

from gpuclf.estimators.inputs import without_torch
from gpuclf.estimators.linear_classifier import Checked, LinearClassifier, WithProbabilities
from gpuclf.estimators.setup import Setup, make_setup
from gpuclf.features.rows import SparseRows
from gpuclf.models.learner import Learner, Predictor, Problem
from gpuclf.models.linear.naive_bayes import NaiveBayesState
from gpuclf.ops.class_counts import counts_of_table


class WeightedCounting:
    """The naive Bayes learner of one model, its counts (V+1, K) being sums of weighted rows; weights (docs,) ≥ 0."""

    def __init__(self, learner: Learner, weights: NDArray[np.float64], binary: bool):
        self._learner, self._weights, self._binary = learner, weights, binary

    def init(self, problem: Problem) -> Any:
        return self._learner.init(problem)

    def step(self, problem: Problem, state: NaiveBayesState) -> NaiveBayesState:
        rows, classes = problem.rows, problem.num_classes
        assert isinstance(rows, SparseRows)
        labels = problem.labels.cpu().numpy()
        doc = np.repeat(np.arange(rows.num_docs), rows.crow.diff().cpu().numpy())
        value = rows.val.cpu().numpy().astype(np.float64)
        amount = (value != 0 if self._binary else value) * self._weights[doc]
        cell = rows.col.cpu().numpy().astype(np.int64) * classes + labels[doc]
        flat = np.bincount(cell, weights=amount, minlength=(rows.num_features + 1) * classes)
        table = flat.reshape(-1, 1, classes)
        table[0, 0] = np.bincount(labels, weights=self._weights, minlength=classes)
        counts = counts_of_table(torch.from_numpy(table).to(problem.labels.device))
        return NaiveBayesState(state.views, counts, counted=True)

    def finished(self, problem: Problem, state: Any) -> torch.Tensor:
        return self._learner.finished(problem, state)

    def result(self, problem: Problem, state: Any) -> Predictor:
        return self._learner.result(problem, state)

    def alternatives(self, problem: Problem, state: Any) -> Mapping[str, Predictor]:
        return self._learner.alternatives(problem, state)

    def progress(self, problem: Problem, state: Any) -> dict[str, torch.Tensor]:
        return self._learner.progress(problem, state)


class NaiveBayes(WithProbabilities, LinearClassifier):
    """Naive Bayes over counts, or over presence (`variant="bernoulli"`); gpuclf.models.linear.naive_bayes has the rest.

    coef_ and intercept_ are log probabilities (differences of them for two classes); for Bernoulli they apply to
    presences, and with alpha=0 the classes that a feature excludes are not in them.
    """

    def __init__(
        self,
        variant: Literal["multinomial", "bernoulli", "complement"] = "multinomial",
        alpha: float = 1.0,
        prior: Literal["empirical", "uniform"] = "empirical",
        norm: bool = False,
        device: str = "auto",
    ):
        self.variant = variant
        self.alpha = alpha
        self.prior = prior
        self.norm = norm
        self.device = device

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Counts once over all rows."""
        X = without_torch(X)
        if sample_weight is None:
            return self._fit(X, y)
        like = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        weights = checked_weights(without_torch(sample_weight), like, dtype=np.float64, ensure_non_negative=True)
        return self._fit(X, y, lambda learner: WeightedCounting(learner, weights, self.variant == "bernoulli"))

    def _checked(self, X: Any, y: Any, sample_weight: Any = None) -> Checked:
        checked = super()._checked(X, y, sample_weight)
        check_non_negative(checked.X, f"{type(self).__name__} (input X)")
        return checked

    def _setup(self) -> Setup:
        model = {name: getattr(self, name) for name in ("variant", "alpha", "prior", "norm")}
        return make_setup(self, "naive_bayes", model, {}, 0, self.device)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # as scikit-learn's own: on clouds of points, which counts are not
        return tags
