"""Marginal tables as a predictor keeps them: rising keys of the cells that occur, and their counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.models.decomposable.graph import CLASS, Members
from gpuclf.models.decomposable.variables import Variables

_WIDEST = 1 << 62  # cells of a table whose keys are its cells' numbers; of wider ones they are hashes
_ODD = -7046029254386353131


@dataclass(frozen=True)
class Factor:
    """A table to keep: its variables, how often it stands in the product, the model of a sequence from which on, and
    the family of models that it belongs to."""

    members: Members
    power: int
    joins: int = 0
    family: int = 0


SEQUENCE, FALLBACK, BAYES, TREE = range(4)  # families: the model or its sequence; naive Bayes to fall back on; and two
# that are stacked with the sequence, naive Bayes and the tree-augmented one


@dataclass(frozen=True)
class Tables:
    """T tables: vars (T, W) int32, inputs as variables and the class as 0, −1 for none; power, joins, family (T,)
    int32; size (T,) float64; begin (T + 1,) int64 into keys, counts (X,)."""

    vars: Tensor
    power: Tensor
    joins: Tensor
    family: Tensor
    size: Tensor
    begin: Tensor
    keys: Tensor
    counts: Tensor


def cell_keys(codes: Tensor, num_values: Sequence[int], members: Sequence[int]) -> Tensor:
    """(n,) int64 key of each document's cell among the inputs `members`, in rising order; codes (V, n), class first.

    The cell's number in the product space where that has fewer than 2^62 cells with the class; else a 64-bit hash: two
    of 100,000 cells share one with probability 3e-10.
    """
    key = torch.zeros(codes.shape[1], dtype=torch.int64, device=codes.device)
    wide = _wide(num_values, members)
    for variable in members:
        key = _mixed(key, codes[variable].long()) if wide else key * num_values[variable] + codes[variable].long()
    return key


def with_class(keys: Tensor, label: Tensor, num_values: Sequence[int], members: Sequence[int]) -> Tensor:
    """Keys of inputs' cells `members`, with the class as well (both broadcast)."""
    return _mixed(keys, label) if _wide(num_values, members) else keys * num_values[CLASS] + label


def _wide(num_values: Sequence[int], members: Sequence[int]) -> bool:
    return math.prod(num_values[v] for v in members) * num_values[CLASS] >= _WIDEST


def _mixed(key: Tensor, code: Tensor) -> Tensor:
    key = (key ^ (code + 1)) * _ODD
    return key ^ ((key >> 29) & ((1 << 35) - 1))


def count_tables(variables: Variables, factors: Sequence[Factor]) -> Tables:
    """The tables of the counted rows, family after family, in the order of the models they join."""
    ordered = sorted(factors, key=lambda f: (f.family, f.joins, sorted(f.members)))
    counted = torch.nonzero(variables.labels >= 0).flatten()
    codes, label = variables.codes[:, counted], variables.labels[counted]
    values = variables.num_values.tolist()
    levels = variables.levels.double()
    width = max((len(f.members) for f in ordered), default=1)
    vars = torch.full((len(ordered), width), -1, dtype=torch.int32)
    size = torch.ones(len(ordered), dtype=torch.float64)
    begin, keys, counts = [0], [], []
    for place, factor in enumerate(ordered):
        members = sorted(factor.members)
        inputs = [v for v in members if v != CLASS]
        key = cell_keys(codes, values, inputs)
        if CLASS in factor.members:
            key = with_class(key, label, values, inputs)
        found, held = torch.unique(key, return_counts=True)
        keys.append(found)
        counts.append(held.to(torch.int32))
        begin.append(begin[-1] + len(found))
        vars[place, : len(members)] = torch.tensor(members, dtype=torch.int32)
        size[place] = levels[members].prod()
    device = variables.codes.device
    nothing = torch.zeros(0, dtype=torch.int64, device=device)

    def column(name: str) -> Tensor:
        return torch.tensor([getattr(f, name) for f in ordered], dtype=torch.int32, device=device)

    return Tables(
        vars=vars.to(device),
        power=column("power"),
        joins=column("joins"),
        family=column("family"),
        size=size.to(device),
        begin=torch.tensor(begin, device=device),
        keys=torch.cat([nothing, *keys]),
        counts=torch.cat([nothing.to(torch.int32), *counts]),
    )
