"""Adaptive regularisation of weights (Crammer, Kulesza & Dredze 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import TRAIN_KEYS, WHOLE_STEPS, OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import ConfidenceRule
from gpuclf.models.train_options import TrainOptions


class ArowOptions(LearnerOptions):
    """As CW, but a document may stay wrong: r weighs its squared loss and what it teaches of the variances.

    A document changes the model where m < 1, by α = (1 - m)/(v + r); see gpuclf.ops.instance_epoch.InstanceRule.
    """

    type: Literal["arow"] = "arow"
    r: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0  # large: small steps
    diagonal: Literal["covariance", "precision"] = "covariance"  # of which matrix the diagonal is kept after a step
    average: bool = False  # true: the mean of the weights after every instance

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.r"})
    no_weights: ClassVar[str | None] = WHOLE_STEPS
    train_keys: ClassVar[frozenset[str]] = TRAIN_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.r": 1}

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        return OnlineLearner(train, self.average, ConfidenceRule("arow", self.diagonal, r=self.r))

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average, covariance=True)
