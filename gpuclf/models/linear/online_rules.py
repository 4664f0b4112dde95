"""The online rules as parts of an `OnlineLearner`: which op runs an epoch, and with which numbers a replica.

A number comes per replica where a grid varies it, else from the field here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.learner import Problem
from gpuclf.models.linear.cost_matrix import read_cost_matrix
from gpuclf.models.linear.online import TRAIN_KEYS, OnlineState
from gpuclf.models.replica_rows import option
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.instance_epoch import InstanceModel, InstanceRule, instance_epoch
from gpuclf.ops.online_epoch import Counts, Model, Rule, ScaledRows, Streams, online_epoch

INSTANCE_KEYS = TRAIN_KEYS - {"batch_update"}  # of the online SVM, which takes one document at a time only
Costs = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class MarginRule:
    """Perceptron and MIRA: see gpuclf.ops.online_epoch.Rule. With `confidence` η the factor gamma is Φ⁻¹(η)."""

    step: Literal["perceptron", "pa1", "pa2"]
    update_on: Literal["error", "margin"] = "error"
    C: float = 1.0
    gamma: float = 1.0
    confidence: float | None = None
    scaled_margin: bool = False
    cost_augmented: bool = False
    cost: Costs | None = field(default=None, repr=False)

    @property
    def has_covariance(self) -> bool:
        return False

    def epoch(
        self, problem: Problem, rows: ScaledRows, streams: Streams, state: OnlineState, train: TrainOptions
    ) -> Counts:
        confidence = self.confidence
        rule = Rule(
            step=self.step,
            C=option(problem, "model.C", self.C),
            gamma=option(problem, "model.gamma", self.gamma) if confidence is None else _phi(problem, confidence),
            cost=_tensor(self.cost, problem),
            update_on=self.update_on,
            scaled_margin=self.scaled_margin,
            cost_augmented=self.cost_augmented,
        )
        model = Model(state.weights, state.sums, state.steps, state.limited)
        return online_epoch(rows, streams, rule, model, train.documents_at_once, train.batch_update == "mean")

    def lasting(self, problem: Problem) -> Tensor:
        return _all(problem)


@dataclass(frozen=True)
class ConfidenceRule:
    """CW, AROW and SCW with a diagonal covariance: see gpuclf.ops.instance_epoch.InstanceRule."""

    kind: Literal["variance", "scw1", "scw2", "arow"]
    diagonal: Literal["precision", "covariance"]
    eta: float = 0.9
    C: float = torch.inf
    r: float = 1.0

    @property
    def has_covariance(self) -> bool:
        return True

    def epoch(
        self, problem: Problem, rows: ScaledRows, streams: Streams, state: OnlineState, train: TrainOptions
    ) -> Counts:
        if self.kind == "arow":
            rule = InstanceRule("arow", r=option(problem, "model.r", self.r), diagonal=self.diagonal)
        else:
            phi, C = _phi(problem, self.eta), option(problem, "model.C", self.C)
            rule = InstanceRule(self.kind, phi=phi, C=C, diagonal=self.diagonal)
        at_once, mean = train.documents_at_once, train.batch_update == "mean"
        return instance_epoch(rows, streams, rule, _model(state), at_once, mean)

    def lasting(self, problem: Problem) -> Tensor:
        return _all(problem)


@dataclass(frozen=True)
class DecayRule:
    """The online SVM: see gpuclf.ops.instance_epoch.InstanceRule. `inverse`: steps of 1/(λt), not of eta."""

    eta: float
    decay: float
    inverse: bool = False
    cost: Costs | None = field(default=None, repr=False)

    @property
    def has_covariance(self) -> bool:
        return False

    def epoch(
        self, problem: Problem, rows: ScaledRows, streams: Streams, state: OnlineState, train: TrainOptions
    ) -> Counts:
        eta = None if self.inverse else option(problem, "model.eta", self.eta)
        rule = InstanceRule("svm", eta=eta, decay=self._decay(problem), cost=_tensor(self.cost, problem))
        return instance_epoch(rows, streams, rule, _model(state))

    def lasting(self, problem: Problem) -> Tensor:
        """Weights that decay go on doing so, and rows whose margin was wide enough fall below it again."""
        return self._decay(problem) == 0

    def _decay(self, problem: Problem) -> Tensor:
        return option(problem, "model.lambda", self.decay)


def named_costs(path: Path | None, class_names: Sequence[str]) -> Costs | None:
    """The cost matrix of a file; None without one."""
    return None if path is None else tuple(tuple(row) for row in read_cost_matrix(path, class_names).tolist())


def one_at_a_time(train: TrainOptions, type_name: str) -> None:
    """UserFault for minibatches, of the rule whose weights decay at every document."""
    if train.documents_at_once > 1:
        raise UserFault(
            f"{type_name} takes one document at a time: all weights decay at each, and 1/(lambda t) counts documents",
            key="train.batch",
            remedy="remove it, or set its form for minibatches: svm with optimizer: sgd and schedule: inverse",
        )


def _model(state: OnlineState) -> InstanceModel:
    return InstanceModel(state.weights, state.sums, state.steps, state.covariance)


def _phi(problem: Problem, eta: float) -> Tensor:
    """Φ⁻¹(η) (R,) float64."""
    return torch.special.ndtri(option(problem, "model.eta", eta))


def _tensor(cost: Costs | None, problem: Problem) -> Tensor | None:
    return None if cost is None else torch.tensor(cost, dtype=torch.float64, device=problem.labels.device)


def _all(problem: Problem) -> Tensor:
    return torch.ones(len(problem.replicas), dtype=torch.bool, device=problem.labels.device)
