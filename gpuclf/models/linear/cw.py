"""Confidence-weighted learning (Dredze, Crammer & Pereira 2008; Crammer, Dredze & Pereira 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import TRAIN_KEYS, WHOLE_STEPS, OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import ConfidenceRule, MarginRule
from gpuclf.models.train_options import TrainOptions


class CwOptions(LearnerOptions):
    """Weights are normal variables; the smallest change after which the document is right with probability eta.

    With m the mean of the margin over the best wrong class, v its variance and φ = Φ⁻¹(eta), a document changes the
    model where φv > m (form: variance, the default) or φ√v > m (form: stdev);
    gpuclf.ops.instance_epoch.InstanceRule says by how much. No document may stay wrong, so that both forms suit data
    that can be separated, stdev with `diagonal: precision` no others: there its variances collapse.

    With `covariance: identity` σ stays 1 for all weights, and the constraint is m ≥ φ√v (form: stdev, there the
    default): that is MIRA with margin: scaled, gamma = φ and no limit C.
    """

    type: Literal["cw"] = "cw"
    eta: Annotated[float, Field(gt=0.5, lt=1)] = 0.9  # probability of being right that a document asks for
    form: Literal["variance", "stdev"] | None = None  # null: variance, or stdev where the covariance is the identity
    covariance: Literal["diagonal", "identity"] = "diagonal"
    diagonal: Literal["precision", "covariance"] = "precision"  # of which matrix the diagonal is kept after a step
    average: bool = False  # true: the mean of the weights after every instance

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.eta"})
    no_weights: ClassVar[str | None] = WHOLE_STEPS
    train_keys: ClassVar[frozenset[str]] = TRAIN_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.eta": -1}  # smaller margins

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.covariance == "identity" and self.form == "variance":
            raise ValueError(
                "covariance: identity is MIRA with a scaled margin for form: stdev only; set that, or remove form"
            )
        if self.covariance == "identity" and self.diagonal != "precision":
            raise ValueError("diagonal means nothing with covariance: identity; remove one of them")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        if self.covariance == "identity":
            rule = MarginRule("pa1", "margin", C=float("inf"), confidence=self.eta, scaled_margin=True)
            return OnlineLearner(train, self.average, rule)
        kind: Literal["variance", "scw1"] = "scw1" if self.form == "stdev" else "variance"
        return OnlineLearner(train, self.average, ConfidenceRule(kind, self.diagonal, eta=self.eta))

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average, self.covariance == "diagonal")
