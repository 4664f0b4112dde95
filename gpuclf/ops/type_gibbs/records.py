"""What a sweep works on: features of the types, counts of the tags, the chains' parameters, and the visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch
from torch import Tensor

LEVELS = ("1tw", "prior", "feats")  # a level's code is its place here
SAMPLERS = ("exact", "paper", "clojure")


@dataclass(frozen=True)
class TypeFeatures:
    """Feature values of every type, each template's values numbered after those of the template before it.

    values (types, templates) int32; num_values (templates,) int64: values of each template, |f|.
    """

    values: Tensor
    num_values: Tensor

    @property
    def total(self) -> int:
        return int(self.num_values.sum())

    def to(self, device: torch.device) -> TypeFeatures:
        return TypeFeatures(self.values.to(device), self.num_values.to(device))


def features_of(type_codes: Tensor, num_values: Sequence[int]) -> TypeFeatures:
    """From codes (types, templates) that begin at 0 in every template, and the number of values of each template."""
    values = torch.tensor(num_values, dtype=torch.int64, device=type_codes.device)
    return TypeFeatures((type_codes + (values.cumsum(0) - values)).to(torch.int32).contiguous(), values)


class Counts(NamedTuple):
    """Counts of R chains: all that the conditional knows of the other types' tags.

    transitions (R, K+1, K+1) int64: bigrams by tag and next tag, row K the sentence start, column K its end;
    types (R, K) int64: types of each tag; tokens (R, K) int64: tokens of each tag;
    features (R, values, K) int32: types by feature value and tag.
    """

    transitions: Tensor
    types: Tensor
    tokens: Tensor
    features: Tensor

    @property
    def num_tags(self) -> int:
        return self.types.shape[1]


@dataclass(frozen=True)
class Hyper:
    """Per chain, (R,): alpha float64 (token level: transitions, emissions), beta float64 (type level: tags, features),
    level int64 (a place in LEVELS)."""

    alpha: Tensor
    beta: Tensor
    level: Tensor

    def take(self, index: Tensor | slice) -> Hyper:
        return replace(self, **{item.name: getattr(self, item.name)[index] for item in fields(self)})


@dataclass(frozen=True)
class Visits:
    """One sweep: order (R, visits) int64 of types, draws (R, types) float64 in [0, 1) that decide their tags, and the
    temperature (1: the posterior itself; below: sharper)."""

    order: Tensor
    draws: Tensor
    temperature: float = 1.0

    def take(self, index: Tensor | slice) -> Visits:
        return replace(self, order=self.order[index], draws=self.draws[index])
