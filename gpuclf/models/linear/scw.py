"""Soft confidence-weighted learning (Wang, Zhao & Hoi 2012)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import TRAIN_KEYS, WHOLE_STEPS, OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import ConfidenceRule
from gpuclf.models.train_options import TrainOptions


class ScwOptions(LearnerOptions):
    """As CW in standard deviations, with a limit to what one document may change.

    A document changes the model where its loss φ√v - m is positive, with φ = Φ⁻¹(eta). scw1 (SCW-I) cuts the step at
    C, scw2 (SCW-II) squares the loss and damps it by C; see gpuclf.ops.instance_epoch.InstanceRule. With C = inf and
    the same `diagonal` both are cw with form: stdev.
    """

    type: Literal["scw"] = "scw"
    variant: Literal["scw1", "scw2"] = "scw1"
    C: Annotated[float, Field(gt=0, allow_inf_nan=True)] = 1.0  # .inf: none
    eta: Annotated[float, Field(gt=0.5, lt=1)] = 0.9  # probability of being right that a document asks for
    diagonal: Literal["covariance", "precision"] = "covariance"  # of which matrix the diagonal is kept after a step
    average: bool = False  # true: the mean of the weights after every instance

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.C", "model.eta"})
    no_weights: ClassVar[str | None] = WHOLE_STEPS
    train_keys: ClassVar[frozenset[str]] = TRAIN_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.C": -1, "model.eta": -1}

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        rule = ConfidenceRule(self.variant, self.diagonal, eta=self.eta, C=self.C)
        return OnlineLearner(train, self.average, rule)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average, covariance=True)
