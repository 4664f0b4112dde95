"""Multinomial logistic regression, also known as the maximum-entropy classifier (Eisenstein 2018, section 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import model_validator

from gpuclf.models.learner import Learner
from gpuclf.models.linear.regularised import OptimizerKind, RegularisedOptions, build_learner, check_combination
from gpuclf.models.train_options import TrainOptions
from gpuclf.optim.losses import Loss


class LogisticOptions(RegularisedOptions):
    """The loss is -log P(class | document), softmax of the scores; C, penalties and tol as in scikit-learn."""

    type: Literal["logistic"] = "logistic"
    optimizer: OptimizerKind = "lbfgs"  # l1 and elasticnet: owlqn

    probabilities: ClassVar[bool] = True

    @model_validator(mode="after")
    def _parts_agree(self) -> LogisticOptions:
        check_combination(self, "logistic", self.optimizer)
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Learner:
        return build_learner(self, Loss("logistic"), self.optimizer, train, class_names)
