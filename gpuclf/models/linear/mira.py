"""MIRA, also known as the passive-aggressive algorithm (Crammer & Singer 2003; Crammer et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuclf.data.paths import ConfigPath
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import TRAIN_KEYS, WHOLE_STEPS, OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import MarginRule, named_costs
from gpuclf.models.train_options import TrainOptions


class MarginOptions(LearnerOptions):
    """The smallest step that gives the right class its margin over the best wrong one, limited by C. Abstract.

    The margin aimed at is 1, the cost of the confusion where there is a cost matrix, or gamma · |step direction| with
    `margin: scaled`.
    """

    C: Annotated[float, Field(gt=0, allow_inf_nan=True)] = 1.0  # largest step (pa1) or its softness (pa2); .inf: none
    update_on: Literal["error", "margin"] = "margin"  # wrong prediction only, or margin smaller than aimed at
    average: bool = True  # the mean of the weights after every instance; false: the last weights
    margin: Literal["fixed", "scaled"] = "fixed"
    gamma: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0  # for margin: scaled
    cost: ConfigPath | None = None  # TSV: named gold classes down, named predicted classes across
    cost_augmented: bool = False  # the rival is the class of the highest score + cost

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.C", "model.gamma"})
    no_weights: ClassVar[str | None] = WHOLE_STEPS
    train_keys: ClassVar[frozenset[str]] = TRAIN_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.C": -1}  # smaller steps

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.gamma != 1.0 and self.margin != "scaled":
            raise ValueError("gamma means nothing with margin: fixed; set margin: scaled or remove gamma")
        if self.cost is not None and self.margin == "scaled":
            raise ValueError("cost and margin: scaled both set the margin; keep one of them")
        if self.cost_augmented and self.cost is None:
            raise ValueError("cost_augmented needs a cost matrix; set cost")
        return self

    def learner(self, step: Literal["pa1", "pa2"], train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        rule = MarginRule(
            step=step,
            update_on=self.update_on,
            C=self.C,
            gamma=self.gamma,
            scaled_margin=self.margin == "scaled",
            cost_augmented=self.cost_augmented,
            cost=named_costs(self.cost, class_names),
        )
        return OnlineLearner(train, self.average, rule)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average)


class MiraOptions(MarginOptions):
    """PA-I cuts a step at C; PA-II damps it by C; with C = inf both are plain MIRA."""

    type: Literal["mira"] = "mira"
    variant: Literal["pa1", "pa2"] = "pa1"

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        return self.learner(self.variant, train, class_names)


class Pa2Options(MarginOptions):
    """PA-II under a name of its own: mira with variant: pa2."""

    type: Literal["pa2"] = "pa2"

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        return self.learner("pa2", train, class_names)
