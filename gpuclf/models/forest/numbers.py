"""Numbers of forests: quantile bins, and missing ones. What both need is learnt from a replica's training rows alone.

Code 0 of an ordered input is a missing number. Growth knows thresholds only, so an input that has missing numbers is
given to it twice: once with these below all numbers, once above. The better cut of the two sends them to the side that
gains most, with ties to the first; afterwards both are one input again, and a node's `size` says where they go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from gpuclf.models.forest.coded import Layout
from gpuclf.ops.boost_round import BoostTrees
from gpuclf.ops.forest_votes import MISSING_RIGHT, MISSING_UNSEEN
from gpuclf.ops.grow_forest import Table, Trees

MOST_BINS = 256
TreesT = TypeVar("TreesT", Trees, BoostTrees)


def number_bins(codes: Tensor, times: Tensor, inputs: Layout, most: int) -> Tensor:
    """(values of all inputs,) int32: for each number the greatest one of its bin, other codes standing for themselves.

    codes (docs, M) int32; times (docs,): how often a training row counts, 0 for all others. A number's bin is the
    quantile, of `most` ones, at which its first row stands; up to `most` different numbers are a bin each. Numbers that
    training rows have not, and missing ones, stand for themselves. Every threshold between bins is one between numbers,
    so that prediction needs no bins.
    """
    base, count = inputs.base.tolist(), times.to(torch.int64)
    rows = torch.nonzero(count > 0).flatten()
    parts = []
    for i, ordered in enumerate(inputs.ordered):
        own = torch.arange(base[i + 1] - base[i], device=codes.device)
        parts.append(own)
        if not ordered:
            continue
        held = torch.zeros_like(own).index_add_(0, codes[rows, i].long(), count[rows])
        held[0] = 0
        present = torch.nonzero(held > 0).flatten()
        if present.numel() <= most:
            continue
        held = held[present]
        bin = (held.cumsum(0) - held) * most // held.sum()
        last = torch.zeros(most, dtype=torch.int64, device=codes.device).scatter_reduce_(0, bin, present, "amax")
        parts[-1] = own.scatter(0, present, last[bin])
    return torch.cat(parts).to(torch.int32)


@dataclass(frozen=True)
class Widened:
    """table: codes of M inputs, and behind them again those with missing numbers, which are then above all others.

    owner (M',) int64: the input of each column; twice (M,) bool: those that stand there twice; greatest (M,) int64: the
    greatest code of each in training rows; num_values and ordered of the M inputs.
    """

    table: Table
    owner: Tensor
    twice: Tensor
    greatest: Tensor
    num_values: tuple[int, ...]
    ordered: tuple[bool, ...]

    def narrowed(self, trees: TreesT) -> TreesT:
        """The trees as trees of the M inputs."""
        asked = trees.input.clamp(min=0).long()
        input, split = self.owner[asked], (trees.input >= 0) & (trees.size < 0)
        copy = split & (asked >= len(self.num_values))
        unseen = split & ~self.twice[input]
        size = torch.where(copy, MISSING_RIGHT, torch.where(unseen, MISSING_UNSEEN, trees.size))
        # a cut between all numbers and the missing ones: numbers beyond those of training are numbers, too
        values = torch.tensor(self.num_values, device=asked.device)
        first = torch.where(copy & (trees.first >= self.greatest[input]), values[input] - 1, trees.first)
        gain = trees.gain.new_zeros(*trees.gain.shape[:-1], len(self.num_values))
        return replace(
            trees,
            input=torch.where(trees.input >= 0, input, trees.input).to(trees.input.dtype),
            first=first.to(trees.first.dtype),
            size=size.to(trees.size.dtype),
            gain=gain.index_add_(-1, self.owner, trees.gain),
        )


def widened(codes: Tensor, num_values: tuple[int, ...], ordered: tuple[bool, ...], member: Tensor) -> Widened:
    """Codes (docs, M) int32 as growth takes them; member: training rows, (docs,) bool or their numbers int64."""
    device = codes.device
    cut = torch.tensor(ordered, dtype=torch.bool, device=device)
    owner, twice = torch.arange(len(ordered), device=device), torch.zeros_like(cut)
    greatest = torch.zeros(len(ordered), dtype=torch.int64, device=device)
    numeric = torch.nonzero(cut).flatten()
    if numeric.numel():
        rows = codes[:, numeric][member].long()
        greatest[numeric] = rows.amax(0)
        twice[numeric] = (rows == 0).any(0) & (rows > 0).any(0)
    again = torch.nonzero(twice).flatten()
    if again.numel():
        values = torch.tensor(num_values, dtype=codes.dtype, device=device)[again]
        copies = codes[:, again]
        codes = torch.cat([codes, torch.where(copies == 0, values, copies)], 1)
        owner = torch.cat([owner, again])
    extra = tuple(num_values[i] + 1 for i in again.tolist())
    table = Table(codes, num_values + extra, ordered + (True,) * len(extra))
    return Widened(table, owner, twice, greatest, num_values, ordered)
