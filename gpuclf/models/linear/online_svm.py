"""The online support vector machine (Eisenstein 2018, eq. 2.47 and 2.48; Shalev-Shwartz et al. 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, create_model, model_validator

from gpuclf.data.paths import ConfigPath
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.linear.online import WHOLE_STEPS, OnlineLearner, online_bytes
from gpuclf.models.linear.online_rules import INSTANCE_KEYS, DecayRule, named_costs, one_at_a_time
from gpuclf.models.train_options import TrainOptions

# The option is called lambda, in a config and as a field: a keyword of Python, which no class body can declare.
_LAMBDA: dict[str, Any] = {"lambda": (Annotated[float, Field(ge=0, lt=1)], 1e-5)}
_WithLambda: Any = create_model("_WithLambda", __base__=LearnerOptions, **_LAMBDA)


class OnlineSvmOptions(_WithLambda):
    """Stochastic subgradient steps on the margin loss with cost, and the decay that the L2 penalty asks for.

    At every document, right or wrong, all weights shrink to (1 - lambda) of what they were; where the class of the
    highest score + cost is not the gold class, eta · x is added to the latter and taken from the former. With
    `schedule: inverse` document t has a step of 1/(lambda t) in place of eta, and the decay that belongs to it, 1/t.
    """

    type: Literal["online_svm"] = "online_svm"
    eta: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0  # length of a step
    schedule: Literal["constant", "inverse"] = "constant"
    average: bool = True  # the mean of the weights after every instance; false: the last weights
    cost: ConfigPath | None = None  # TSV: named gold classes down, named predicted classes across; without it 1

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.eta", "model.lambda"})
    no_weights: ClassVar[str | None] = WHOLE_STEPS
    train_keys: ClassVar[frozenset[str]] = INSTANCE_KEYS
    simplest: ClassVar[dict[str, int]] = {"model.lambda": 1, "model.eta": -1}

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.schedule == "inverse" and self.eta != 1.0:
            raise ValueError("eta means nothing with schedule: inverse, whose steps are 1/(lambda t); remove one")
        if self.schedule == "inverse" and getattr(self, "lambda") == 0:
            raise ValueError("schedule: inverse divides by lambda; set it above 0")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> OnlineLearner:
        one_at_a_time(train, self.type)
        cost = named_costs(self.cost, class_names)
        rule = DecayRule(self.eta, getattr(self, "lambda"), self.schedule == "inverse", cost)
        return OnlineLearner(train, self.average, rule)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return online_bytes(num_features, num_classes, self.average)
