"""What each tree is grown on: rows and how often, class weights, values merged or dropped. All from training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gpuclf.models.forest.coded import Layout
from gpuclf.ops.counter_hash import hash64
from gpuclf.ops.grow_forest import MOST_ROWS

_BAG = -1  # what is hashed onto a tree's key for its bootstrap; its node's draws are numbered from 0
_FINEST = 64  # class weights are multiples of 1/64 of the least one


@dataclass(frozen=True)
class ValueReduction:
    """Which values of categorical inputs become one (Nielsen & Pradhan 2004, experiment 4)."""

    merge_pure: bool = False
    min_count: int = 1

    def __bool__(self) -> bool:
        return self.merge_pure or self.min_count > 1


def bootstrap_weights(member: Tensor, keys: Tensor) -> Tensor:
    """(T, docs) int32: how often each row of `member` (docs,) bool is drawn, of as many draws as there are members."""
    rows = torch.nonzero(member).flatten()
    draw = torch.arange(rows.numel(), device=member.device)
    upper = (hash64(hash_chain(keys, _BAG)[:, None], draw) >> 32) & ((1 << 32) - 1)
    weight = torch.zeros(keys.numel(), member.numel(), dtype=torch.int32, device=member.device)
    picked = rows[(upper * rows.numel()) >> 32]
    return weight.scatter_add_(1, picked, torch.ones_like(picked, dtype=torch.int32))


def whole_weights(weights: Tensor | None, member: Tensor) -> tuple[Tensor, int]:
    """How often each row of `member` (docs,) bool counts, in whole numbers, (docs,) int32; and which of them is once.

    Weights (docs,) ≥ 0 that are whole numbers, or none at all, are themselves, and 1 is once; those that are multiples
    of a half, a third … which is the least one are counted in it. Others are rounded to 1/64 of the least one, or less
    finely where their sum would be beyond what a tree takes. Rows of weight 0 are no members.
    """
    if weights is None:
        return member.to(torch.int32), 1
    own = torch.where(member, weights, 0.0)
    unit = 1
    if bool((own != own.round()).any()):
        least, total = float(own[member].min()), float(own.sum())
        unit = max(1, round(1 / least))
        if bool(((own * unit) != (own * unit).round()).any()):
            unit = int(max(1, min(_FINEST / least, MOST_ROWS / 2 / total)))
    whole = (own * unit).round().clamp(max=MOST_ROWS)
    return torch.where(member, whole.clamp(min=1), 0).to(torch.int32), unit


def hash_chain(state: Tensor, key: int) -> Tensor:
    """hash64(…, key) where hash64(…) is `state`: hash64 of one key begins from 0."""
    return hash64(state + key)


def class_weights(counts: Tensor, weights: Literal["balanced"] | tuple[float, ...] | None) -> Tensor:
    """(W, K) int64 ≥ 1 for class counts (W, K) of samples: relative weights in whole numbers.

    balanced: n / (K · n_k), over the classes that a sample has.
    """
    if weights is None:
        return torch.ones_like(counts)
    if weights == "balanced":
        wanted = 1.0 / counts.clamp(min=1).to(torch.float64)
        wanted = torch.where(counts > 0, wanted, wanted.max())
    else:
        wanted = torch.tensor(weights, dtype=torch.float64, device=counts.device).expand(counts.shape)
    present = torch.where(counts > 0, wanted, torch.inf)
    relative = wanted / present.min(dim=1, keepdim=True).values
    finest = MOST_ROWS / 2 / (relative * counts).sum(1, keepdim=True).clamp(min=1)
    return torch.round(relative * finest.clamp(max=_FINEST)).clamp(min=1).to(torch.int64)


def value_mapping(
    codes: Tensor, labels: Tensor, member: Tensor, inputs: Layout, reduction: ValueReduction, classes: int
) -> Tensor:
    """(values of all inputs,) int32: the code that stands for each code of its input, by the rows of `member`.

    A value of training stands for itself; merged with others of its class, the lowest of them stands for all; dropped
    or not in training, 0 does. Numbers stand for themselves.
    """
    rows = torch.nonzero(member & (labels >= 0)).flatten()
    base = inputs.base.to(codes.device)
    total = int(base[-1])
    code = torch.arange(total, device=codes.device) - base[:-1].repeat_interleave(base.diff())
    counts = torch.zeros(total * classes, dtype=torch.int32, device=codes.device)
    value = base[:-1] + codes[rows].long()
    cell = (value * classes + labels[rows][:, None]).flatten()
    counts.index_add_(0, cell, torch.ones_like(cell, dtype=torch.int32))
    counts = counts.view(total, classes)
    held = counts.sum(1)
    stands = torch.where(held >= max(1, reduction.min_count), code, 0)
    if reduction.merge_pure:
        pure = (stands > 0) & ((counts > 0).sum(1) == 1)
        of_input = torch.arange(len(inputs.num_values), device=codes.device).repeat_interleave(base.diff())
        group = (of_input * classes + counts.argmax(1))[pure]
        lowest = torch.full((len(inputs.num_values) * classes,), total, dtype=torch.int64, device=codes.device)
        lowest.scatter_reduce_(0, group, code[pure], "amin")
        stands[pure] = lowest[group]
    return torch.where(inputs.of_numbers(codes.device), code, stands).to(torch.int32)


def tie_order(counts: Tensor) -> Tensor:
    """(R, K) float32 from class counts (R, K): shares by the rank of frequency, equal counts by class; they add to 1.

    A class without rows gets 0.
    """
    places = torch.argsort(counts, dim=1, descending=True, stable=True)
    ranks = torch.empty_like(places).scatter_(
        1, places, torch.arange(counts.shape[1], 0, -1, device=counts.device).expand_as(places).contiguous()
    )
    shares = torch.where(counts > 0, ranks, 0).to(torch.float64)
    return (shares / shares.sum(1, keepdim=True)).to(torch.float32)
