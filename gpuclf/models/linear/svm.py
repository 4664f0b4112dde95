"""Large-margin classifiers over all classes jointly (Crammer & Singer 2001; Eisenstein 2018, section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import model_validator

from gpuclf.data.paths import ConfigPath
from gpuclf.models.learner import Learner
from gpuclf.models.linear.cost_matrix import read_cost_matrix
from gpuclf.models.linear.regularised import OptimizerKind, RegularisedOptions, build_learner, check_combination
from gpuclf.models.train_options import TrainOptions
from gpuclf.optim.losses import Loss


class SvmOptions(RegularisedOptions):
    """The loss is how far the gold class fails to lead the highest other class by 1, or by the cost of confusing them.

    margin: that violation; squared_margin: the squares of those of all other classes, summed; perceptron: without the
    1, wrong predictions only.
    """

    type: Literal["svm"] = "svm"
    loss: Literal["margin", "squared_margin", "perceptron"] = "margin"
    cost: ConfigPath | None = None  # TSV: named gold classes down, named predicted classes across
    optimizer: OptimizerKind = "dcd"  # squared_margin: lbfgs or newton; l1: owlqn; all: sgd, adagrad

    @model_validator(mode="after")
    def _parts_agree(self) -> SvmOptions:
        check_combination(self, self.loss, self.optimizer)
        if self.cost is not None and self.loss == "perceptron":
            raise ValueError("the perceptron loss has no margin that a cost could set; remove cost or set loss: margin")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Learner:
        cost = None
        if self.cost is not None:
            cost = tuple(tuple(row) for row in read_cost_matrix(self.cost, class_names).tolist())
        return build_learner(self, Loss(self.loss, cost), self.optimizer, train, class_names)
