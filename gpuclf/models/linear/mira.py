"""MIRA, also known as the passive-aggressive algorithm (Crammer & Singer 2003; Crammer et al. 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from gpuclf.data.paths import ConfigPath
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.cost_matrix import read_cost_matrix
from gpuclf.models.linear.online import TRAIN_KEYS, OnlineLearner
from gpuclf.models.train_options import TrainOptions


class MiraOptions(LearnerOptions):
    """The smallest step that gives the right class its margin over the best wrong one, limited by C.

    The margin aimed at is 1, the cost of the confusion where there is a cost matrix, or gamma · |step direction| with
    `margin: scaled`.
    """

    type: Literal["mira"] = "mira"
    C: Annotated[float, Field(gt=0, allow_inf_nan=True)] = 1.0  # largest step (pa1) or its softness (pa2); .inf: none
    update_on: Literal["error", "margin"] = "margin"  # wrong prediction only, or margin smaller than aimed at
    average: bool = True  # the mean of the weights after every instance; false: the last weights
    variant: Literal["pa1", "pa2"] = "pa1"
    margin: Literal["fixed", "scaled"] = "fixed"
    gamma: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0  # for margin: scaled
    cost: ConfigPath | None = None  # TSV: named gold classes down, named predicted classes across
    cost_augmented: bool = False  # the rival is the class of the highest score + cost

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.C", "model.gamma"})
    train_keys: ClassVar[frozenset[str]] = TRAIN_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.C": -1}  # smaller steps

    @model_validator(mode="after")
    def _options_agree(self) -> MiraOptions:
        if self.gamma != 1.0 and self.margin != "scaled":
            raise ValueError("gamma means nothing with margin: fixed; set margin: scaled or remove gamma")
        if self.cost is not None and self.margin == "scaled":
            raise ValueError("cost and margin: scaled both set the margin; keep one of them")
        if self.cost_augmented and self.cost is None:
            raise ValueError("cost_augmented needs a cost matrix; set cost")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        cost = None
        if self.cost is not None:
            cost = tuple(tuple(row) for row in read_cost_matrix(self.cost, class_names).tolist())
        return OnlineLearner(
            train=train,
            average=self.average,
            step_rule=self.variant,
            update_on=self.update_on,
            C=self.C,
            gamma=self.gamma,
            scaled_margin=self.margin == "scaled",
            cost_augmented=self.cost_augmented,
            cost=cost,
        )

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Weights, their sums, and the averaged copy that is evaluated."""
        return 4 * (num_features + 1) * num_classes * (3 if self.average else 2)
