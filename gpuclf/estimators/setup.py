"""An estimator's parameters → the options of a learner, checked by the same models that check a config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from pydantic import BaseModel, ValidationError
from sklearn.utils import check_random_state

from gpuclf.models.learner import LearnerOptions
from gpuclf.models.registry import learner_options
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.devices import choose_device

Options = TypeVar("Options", bound=BaseModel)


@dataclass(frozen=True)
class Setup:
    """How one model is trained; `structure` is what models of one batch must have in common."""

    model: LearnerOptions
    train: TrainOptions
    seed: int
    device: torch.device

    @property
    def structure(self) -> str:
        fields = type(self.model).model_fields
        varying = {
            name: fields[name].default for name in self.model.model_dump() if f"model.{name}" in self.per_replica
        }
        return repr((self.model.model_copy(update=varying), self.train, self.device))

    @property
    def per_replica(self) -> frozenset[str]:
        return self.model.per_replica


def make_setup(
    estimator: object, type_name: str, model: Mapping[str, Any], train: Mapping[str, Any], seed: Any, device: str
) -> Setup:
    """The options of learner `type_name` from parameters by option name. ValueError for what they do not allow."""
    return Setup(
        model=_checked(learner_options(type_name), model, estimator),
        train=_checked(TrainOptions, train, estimator),
        seed=seed_of(seed),
        device=choose_device(device),
    )


def _checked(kind: type[Options], values: Mapping[str, Any], estimator: object) -> Options:
    """Only what differs from its default is handed on: an option at its default is not one that the user set."""
    fields = kind.model_fields
    given = {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}
    given = {name: value for name, value in given.items() if not _is(value, fields[name].default)}
    try:
        return kind.model_validate(given)
    except ValidationError as failure:
        error = failure.errors(include_url=False)[0]
        name = ".".join(str(part) for part in error["loc"])
        message = str(error.get("ctx", {}).get("error") or error["msg"])
        place = f"{name} = {error['input']!r}: " if name else ""
        raise ValueError(f"{type(estimator).__name__}: {place}{message}") from failure


def _is(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def seed_of(random_state: Any) -> int:
    """A whole number from 0 as it is; None: another one each time; a RandomState: drawn from it."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state = {random_state}: give a number from 0")
        return int(random_state)
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    return int(check_random_state(random_state).randint(2**31))
