"""Naive Bayes as an estimator, with weights of rows: a row of weight 2 counts as two rows do."""

from __future__ import annotations

from typing import Any, Literal, Self

from sklearn.utils.validation import check_non_negative

from gpuclf.estimators.linear_classifier import Checked, LinearClassifier, WithProbabilities
from gpuclf.estimators.setup import Setup, make_setup


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
        """Counts once over all rows; a row of weight k is k rows."""
        return self._fit(X, y, sample_weight=sample_weight)

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
