"""The closed list of learners: a config's `model.type` names one of these and nothing else."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.mira import MiraOptions
from gpuclf.models.linear.naive_bayes import NaiveBayesOptions
from gpuclf.models.linear.perceptron import PerceptronOptions

ModelOptions = Annotated[PerceptronOptions | MiraOptions | NaiveBayesOptions, Field(discriminator="type")]

LEARNERS: dict[str, type[LearnerOptions]] = {
    "perceptron": PerceptronOptions,
    "mira": MiraOptions,
    "naive_bayes": NaiveBayesOptions,
}


def learner_options(type_name: str) -> type[LearnerOptions]:
    """The options class of a learner by its `type` name; ValueError with the names there are otherwise."""
    if type_name not in LEARNERS:
        raise ValueError(f"no learner is called {type_name!r}; there are: {', '.join(LEARNERS)}")
    return LEARNERS[type_name]
