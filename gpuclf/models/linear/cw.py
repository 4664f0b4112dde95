"""Confidence-weighted learning (Dredze, Crammer & Pereira 2008; Crammer, Dredze & Pereira 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import INSTANCE_KEYS, ConfidenceRule, MarginRule, one_at_a_time
from gpuclf.models.train_options import TrainOptions


class CwOptions(LearnerOptions):
    """Weights are normal variables; the smallest change after which the document is right with probability eta.

    With m the mean of the margin over the best wrong class, v its variance and φ = Φ⁻¹(eta), a document changes the
    model where φ√v > m (form: stdev) or φv > m (form: variance), whose square root is left out to make it easier to
    solve. gpuclf.ops.instance_epoch.InstanceRule says by how much. With `covariance: identity` it stays 1 for all
    weights; that is MIRA with margin: scaled, gamma = φ and no limit C.
    """

    type: Literal["cw"] = "cw"
    eta: Annotated[float, Field(gt=0.5, lt=1)] = 0.9  # probability of being right that a document asks for
    form: Literal["stdev", "variance"] = "stdev"
    covariance: Literal["diagonal", "identity"] = "diagonal"
    diagonal: Literal["precision", "covariance"] = "precision"  # of which matrix the diagonal is kept after a step
    average: bool = False  # true: the mean of the weights after every instance

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.eta"})
    train_keys: ClassVar[frozenset[str]] = INSTANCE_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.eta": -1}  # smaller margins

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.covariance == "identity" and self.form == "variance":
            raise ValueError(
                "with covariance: identity the variance never changes, and form: variance has no reason; remove it"
            )
        if self.covariance == "identity" and self.diagonal != "precision":
            raise ValueError("diagonal means nothing with covariance: identity; remove one of them")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        one_at_a_time(train, self.type)
        if self.covariance == "identity":
            rule = MarginRule("pa1", "margin", C=float("inf"), confidence=self.eta, scaled_margin=True)
            return OnlineLearner(train, self.average, rule)
        kind: Literal["variance", "scw1"] = "variance" if self.form == "variance" else "scw1"
        return OnlineLearner(train, self.average, ConfidenceRule(kind, self.diagonal, eta=self.eta))

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average, self.covariance == "diagonal")
