"""Online rules as estimators: they learn from one row after the other, and so from further rows later."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.utils.multiclass import _check_partial_fit_first_call as first_partial_fit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from gpuclf.estimators.inputs import sparse_rows, without_torch
from gpuclf.estimators.linear_classifier import LinearClassifier, class_names
from gpuclf.estimators.setup import Setup, make_setup
from gpuclf.estimators.training import Rows, Trained, make_problem
from gpuclf.models.learner import Learner, Predictor, Problem
from gpuclf.train.loop import RUNNING

_TRAIN = ("tol", "shuffle", "batch", "batch_update")


class Remembering:
    """A learner that keeps its last state, from which partial_fit goes on."""

    def __init__(self, learner: Learner):
        self._learner = learner
        self.state: Any = None

    def init(self, problem: Problem) -> Any:
        return self._learner.init(problem)

    def step(self, problem: Problem, state: Any) -> Any:
        self.state = self._learner.step(problem, state)
        return self.state

    def finished(self, problem: Problem, state: Any) -> torch.Tensor:
        return self._learner.finished(problem, state)

    def result(self, problem: Problem, state: Any) -> Predictor:
        return self._learner.result(problem, state)

    def alternatives(self, problem: Problem, state: Any) -> Mapping[str, Predictor]:
        return self._learner.alternatives(problem, state)

    def progress(self, problem: Problem, state: Any) -> dict[str, torch.Tensor]:
        return self._learner.progress(problem, state)


class OnlineClassifier(LinearClassifier):
    """fit runs epochs over all rows, partial_fit one epoch over further rows. Abstract.

    The order of an epoch is drawn from random_state, the number of the epoch and the contents of the rows
    (gpuclf.estimators.inputs.content_keys); shuffle=False takes them as they come.
    """

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Starts anew: at most max_iter epochs, fewer where one changed nothing or less than tol."""
        if refused:
            raise TypeError(
                f"{type(self).__name__}.fit takes no {', '.join(refused)}: an online rule makes a whole step for a row"
                " or none, so rows have no weights; repeat rows that count more"
            )
        kept: list[Remembering] = []

        def adapted(learner: Learner) -> Learner:
            kept.append(Remembering(learner))
            return kept[0]

        self._fit(X, y, adapted)
        self._state = kept[0].state
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """One epoch over these rows, from where the model is; `classes` names all classes at the first call."""
        fresh = first_partial_fit(self, without_torch(classes)) or "_state" not in vars(self)
        setup = self._setup()
        X, y = validate_data(
            self,
            without_torch(X),
            without_torch(y),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=fresh,
        )
        check_classification_targets(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y holds {unknown[0]!r}, which is not among the classes of the first call: {self.classes_}"
            )
        names = class_names(self.classes_)
        data = Rows(sparse_rows(X), np.searchsorted(self.classes_, y).astype(np.int64), names)
        problem = make_problem(data, torch.ones((1, data.rows.num_docs), dtype=torch.bool), [setup], [0])
        learner = setup.model.build(setup.train, names)
        state = learner.init(problem) if fresh else copy.deepcopy(self._state)  # a step works in place
        self._state = learner.step(problem, state)
        self._adopt(self.classes_, Trained(learner.result(problem, self._state), self._state.epoch, RUNNING))
        return self

    def _online_setup(self, type_name: str, names: tuple[str, ...], **more: Any) -> Setup:
        train = {name: getattr(self, name) for name in _TRAIN if hasattr(self, name)} | {"max_epochs": self.max_iter}
        model = {name: getattr(self, name) for name in names} | more
        return make_setup(self, type_name, model, train, self.random_state, self.device)


class Perceptron(OnlineClassifier):
    """The perceptron, averaged unless told otherwise (gpuclf.models.linear.perceptron)."""

    def __init__(
        self,
        average: bool = True,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        batch: int = 1,
        batch_update: Literal["sum", "mean"] = "sum",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.batch = batch
        self.batch_update = batch_update
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        return self._online_setup("perceptron", ("average",))


class MIRA(OnlineClassifier):
    """MIRA, also known as the passive-aggressive algorithm (gpuclf.models.linear.mira says what the options do)."""

    def __init__(
        self,
        C: float = 1.0,
        update_on: Literal["error", "margin"] = "margin",
        average: bool = True,
        variant: Literal["pa1", "pa2"] = "pa1",
        margin: Literal["fixed", "scaled"] = "fixed",
        gamma: float = 1.0,
        cost: str | Path | None = None,
        cost_augmented: bool = False,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        batch: int = 1,
        batch_update: Literal["sum", "mean"] = "sum",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.C = C
        self.update_on = update_on
        self.average = average
        self.variant = variant
        self.margin = margin
        self.gamma = gamma
        self.cost = cost
        self.cost_augmented = cost_augmented
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.batch = batch
        self.batch_update = batch_update
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        names = ("C", "update_on", "average", "variant", "margin", "gamma", "cost_augmented")
        return self._online_setup("mira", names, cost=None if self.cost is None else str(self.cost))


class OnlineSVM(OnlineClassifier):
    """The online support vector machine (gpuclf.models.linear.online_svm); decay is the option lambda."""

    def __init__(
        self,
        eta: float = 1.0,
        decay: float = 1e-5,
        schedule: Literal["constant", "inverse"] = "constant",
        average: bool = True,
        cost: str | Path | None = None,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.eta = eta
        self.decay = decay
        self.schedule = schedule
        self.average = average
        self.cost = cost
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        more = {"lambda": self.decay, "cost": None if self.cost is None else str(self.cost)}
        return self._online_setup("online_svm", ("eta", "schedule", "average"), **more)


class ConfidenceWeighted(OnlineClassifier):
    """Confidence-weighted learning (gpuclf.models.linear.cw says what the options do)."""

    def __init__(
        self,
        eta: float = 0.9,
        form: Literal["variance", "stdev"] | None = None,
        covariance: Literal["diagonal", "identity"] = "diagonal",
        diagonal: Literal["precision", "covariance"] = "precision",
        average: bool = False,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        batch: int = 1,
        batch_update: Literal["sum", "mean"] = "sum",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.eta = eta
        self.form = form
        self.covariance = covariance
        self.diagonal = diagonal
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.batch = batch
        self.batch_update = batch_update
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        return self._online_setup("cw", ("eta", "form", "covariance", "diagonal", "average"))


class AROW(OnlineClassifier):
    """Adaptive regularisation of weights (gpuclf.models.linear.arow says what the options do)."""

    def __init__(
        self,
        r: float = 1.0,
        diagonal: Literal["covariance", "precision"] = "covariance",
        average: bool = False,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        batch: int = 1,
        batch_update: Literal["sum", "mean"] = "sum",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.r = r
        self.diagonal = diagonal
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.batch = batch
        self.batch_update = batch_update
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        return self._online_setup("arow", ("r", "diagonal", "average"))


class SCW(OnlineClassifier):
    """Soft confidence-weighted learning (gpuclf.models.linear.scw says what the options do)."""

    def __init__(
        self,
        C: float = 1.0,
        eta: float = 0.9,
        variant: Literal["scw1", "scw2"] = "scw1",
        diagonal: Literal["covariance", "precision"] = "covariance",
        average: bool = False,
        max_iter: int = 10,
        tol: float | None = None,
        shuffle: bool = True,
        batch: int = 1,
        batch_update: Literal["sum", "mean"] = "sum",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.C = C
        self.eta = eta
        self.variant = variant
        self.diagonal = diagonal
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.batch = batch
        self.batch_update = batch_update
        self.random_state = random_state
        self.device = device

    def _setup(self) -> Setup:
        return self._online_setup("scw", ("C", "eta", "variant", "diagonal", "average"))
