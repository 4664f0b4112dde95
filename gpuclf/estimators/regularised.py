"""Logistic regression and the joint support vector machine as estimators: a loss, a penalty and an optimiser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from gpuclf.estimators.linear_classifier import LinearClassifier, WithProbabilities
from gpuclf.estimators.setup import Setup, make_setup

Optimizer = Literal["lbfgs", "owlqn", "newton", "gradient_descent", "dcd", "sgd", "adagrad"]
_MODEL = (
    "penalty",
    "C",
    "l1_ratio",
    "optimizer",
    "offset",
    "tol",
    "max_iter",
    "schedule",
    "learning_rate",
    "power",
    "average",
)


class RegularisedClassifier(LinearClassifier):
    """Minimises C · Σ loss + penalty. Abstract. Warns where max_iter iterations have not come near enough."""

    _has_optimum: ClassVar[bool] = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Starts anew, from weights of 0. sample_weight (docs,) ≥ 0: a row of weight k is k rows."""
        return self._fit(X, y, sample_weight=sample_weight)

    def _regularised_setup(self, type_name: str, **more: Any) -> Setup:
        model = {name: getattr(self, name) for name in _MODEL} | more
        weight = self.class_weight
        if isinstance(weight, Mapping):
            weight = {str(name): float(value) for name, value in weight.items()}
        train = {"batch": self.batch, "shuffle": self.shuffle}
        return make_setup(self, type_name, model | {"class_weight": weight}, train, self.random_state, self.device)


class LogisticRegression(WithProbabilities, RegularisedClassifier):
    """Multinomial logistic regression (gpuclf.models.linear.logistic): C and penalties as scikit-learn has them."""

    def __init__(
        self,
        penalty: Literal["l2", "l1", "elasticnet", "none"] = "l2",
        C: float = 1.0,
        l1_ratio: float = 0.5,
        optimizer: Optimizer = "lbfgs",
        offset: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        schedule: Literal["line_search", "constant", "inverse", "power"] | None = None,
        learning_rate: float = 0.5,
        power: float = 0.5,
        average: bool = False,
        batch: int = 1,
        shuffle: bool = True,
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.optimizer = optimizer
        self.offset = offset
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.schedule = schedule
        self.learning_rate = learning_rate
        self.power = power
        self.average = average
        self.batch = batch
        self.shuffle = shuffle
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        return self._regularised_setup("logistic")


class LinearSVM(RegularisedClassifier):
    """The joint multi-class support vector machine of Crammer & Singer (gpuclf.models.linear.svm)."""

    def __init__(
        self,
        loss: Literal["margin", "squared_margin", "perceptron"] = "margin",
        penalty: Literal["l2", "l1", "elasticnet", "none"] = "l2",
        C: float = 1.0,
        l1_ratio: float = 0.5,
        optimizer: Optimizer = "dcd",
        cost: str | Path | None = None,
        offset: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        schedule: Literal["line_search", "constant", "inverse", "power"] | None = None,
        learning_rate: float = 0.5,
        power: float = 0.5,
        average: bool = False,
        batch: int = 1,
        shuffle: bool = True,
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.loss = loss
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.optimizer = optimizer
        self.cost = cost
        self.offset = offset
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.schedule = schedule
        self.learning_rate = learning_rate
        self.power = power
        self.average = average
        self.batch = batch
        self.shuffle = shuffle
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        return self._regularised_setup("svm", loss=self.loss, cost=None if self.cost is None else str(self.cost))
