"""The perceptron (Rosenblatt 1958; Collins 2002; Eisenstein Alg. 3 and 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import TRAIN_KEYS, WHOLE_STEPS, OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import MarginRule
from gpuclf.models.train_options import TrainOptions


class PerceptronOptions(LearnerOptions):
    """On an error, the row is added to the right class and subtracted from the one that was predicted."""

    type: Literal["perceptron"] = "perceptron"
    average: bool = True  # the mean of the weights after every instance; false: the last weights

    no_weights: ClassVar[str | None] = WHOLE_STEPS
    train_keys: ClassVar[frozenset[str]] = TRAIN_KEYS

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        return OnlineLearner(train, self.average, MarginRule("perceptron"))

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average)
