"""One level of many growing trees: its nodes, the rows in them, and how rows are grouped by value. Any device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64
from gpuclf.ops.grow_forest.records import TERM_BITS, GrowthRules

WORST = (1 << 63) - 1


@dataclass(frozen=True)
class Law:
    """Rules with their tables on the device: subset and candidates (…) int64, terms int64 (unused for Gini)."""

    rules: GrowthRules
    subset: Tensor
    candidates: Tensor
    terms: Tensor

    @property
    def gini(self) -> bool:
        return self.rules.criterion == "gini"

    def term(self, n: Tensor) -> Tensor:
        """What a class of n weighted rows adds to a side."""
        return n * n if self.gini else self.terms[n]

    def cost(self, total_left: Tensor, total_right: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """See cpu_splits.cost_of. Sides without rows cost WORST."""
        if self.gini:
            mass = left.double() / total_left.clamp(min=1) + right.double() / total_right.clamp(min=1)
            cost = -(mass * float(1 << TERM_BITS)).to(torch.int64)
        else:
            cost = self.terms[total_left] + self.terms[total_right] - left - right
        return torch.where((total_left > 0) & (total_right > 0), cost, WORST)


@dataclass(frozen=True)
class Listing:
    """Values of one input by node: node x has code[first[x] : first[x + 1]], rising; first (n + 1,), code (G,)."""

    first: Tensor
    code: Tensor

    @property
    def distinct(self) -> Tensor:
        return self.first.diff()

    def of(self, nodes: Tensor) -> Listing:
        """The lists of some of the nodes, in their order, with repeats."""
        length = self.distinct[nodes]
        place, _ = spans(self.first[nodes], length)
        return Listing(_reach(length), self.code[place])

    def without(self, nodes: Tensor) -> Listing:
        """The same with empty lists for nodes (n,) bool."""
        length = torch.where(nodes, 0, self.distinct)
        place, _ = spans(self.first[:-1], length)
        return Listing(_reach(length), self.code[place])


@dataclass(frozen=True)
class Level:
    """The splittable nodes of one level: key (n,) int64, counts (n, K) int64 rows by class, times (n, K) int64 class
    weights; entries, in the order of their nodes: node, row, label, weight (E,). since (n,) int64: rows of the node
    that counted what the node goes by, 0 where it counts itself; lists: what it goes by, an input each."""

    key: Tensor
    counts: Tensor
    times: Tensor
    node: Tensor
    row: Tensor
    label: Tensor
    weight: Tensor
    since: Tensor
    lists: tuple[Listing, ...] = ()

    def __len__(self) -> int:
        return self.key.numel()

    def recounted(self, nodes: Tensor) -> Level:
        """The level where these nodes count their values themselves."""
        return replace(self, since=self.since.index_fill(0, nodes, 0))


@dataclass(frozen=True)
class Runs:
    """The entries grouped by node and code of one input. entry (E,): their order; begin, end (G,): where the run's
    entries stand in it; node, code (G,); first (n + 1,): the runs of each node."""

    entry: Tensor
    begin: Tensor
    end: Tensor
    node: Tensor
    code: Tensor
    first: Tensor

    @property
    def distinct(self) -> Tensor:
        return self.first.diff()


def relevant(level: Level, runs: Runs, i: int) -> Listing:
    """The values of input i that subsets are drawn from: those of `runs`, or those that a node has from above."""
    counted = Listing(runs.first, runs.code)
    if not level.lists:
        return counted
    stands, above = level.since > 0, level.lists[i]
    length = torch.where(stands, above.distinct, counted.distinct)
    place, node = spans(torch.where(stands, above.first[:-1], counted.first[:-1]), length)
    code = torch.empty_like(place)
    code[stands[node]] = above.code[place[stands[node]]]
    code[~stands[node]] = counted.code[place[~stands[node]]]
    return Listing(_reach(length), code)


def _reach(length: Tensor) -> Tensor:
    """(n + 1,): where spans of these lengths (n,) begin when they stand one after the other, and the end."""
    return torch.cat([length.new_zeros(1), length.cumsum(0)])


def runs_of(level: Level, codes: Tensor, values: int) -> Runs:
    """The runs of one input, whose codes of all rows are `codes` (docs,)."""
    group = level.node * values + codes[level.row]
    group, entry = torch.sort(group, stable=True)
    found, counts = torch.unique_consecutive(group, return_counts=True)
    end = counts.cumsum(0)
    node = found // values
    first = torch.zeros(len(level) + 1, dtype=torch.int64, device=codes.device)
    first[1:] = torch.bincount(node, minlength=len(level)).cumsum(0)
    return Runs(entry, end - counts, end, node, found % values, first)


def spans(begin: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """begin, begin + 1, … of every span, one after the other, and the number of the span each belongs to."""
    owner = torch.arange(length.numel(), device=length.device).repeat_interleave(length)
    inside = torch.arange(owner.numel(), device=length.device) - (length.cumsum(0) - length)[owner]
    return begin[owner] + inside, owner


def chained(state: Tensor, key: Tensor | int) -> Tensor:
    """hash64(…, key) where hash64(…) is `state`."""
    return hash64(state + key)


def below(hashed: Tensor, limit: Tensor) -> Tensor:
    """Whole numbers in [0, limit), from the upper halves of hashes."""
    return (((hashed >> 32) & ((1 << 32) - 1)) * limit) >> 32


def floyd(draw: Tensor, size: Tensor, among: Tensor, first: int) -> Tensor:
    """(c, most) int64: `size` (c,) of `among` ranks without replacement, -1 beyond; draws are numbered from `first`."""
    most = int(size.max()) if size.numel() else 0
    if draw.device.type == "cuda" and find_spec("triton") is not None:
        from gpuclf.ops.grow_forest import triton_walk

        if most <= triton_walk.MOST_RANKS:
            return triton_walk.floyd(draw, size, among, first, most)
    picks = torch.full((size.numel(), most), -1, dtype=torch.int64, device=draw.device)
    for step in range(most):
        last = among - size + step
        rank = below(chained(draw, first + step), (last + 1).clamp(min=1))
        rank = torch.where((picks[:, :step] == rank[:, None]).any(1), last, rank)
        picks[:, step] = torch.where(step < size, rank, -1)
    return picks


def class_counts(owner: Tensor, label: Tensor, weight: Tensor, owners: int, classes: int) -> Tensor:
    """(owners, K) int64: weight by owner and class."""
    cells = torch.zeros(owners * classes, dtype=torch.int64, device=owner.device)
    cells.index_add_(0, owner * classes + label, weight.to(torch.int64))
    return cells.view(owners, classes)


def first_least(cost: Tensor, owner: Tensor, owners: int) -> tuple[Tensor, Tensor]:
    """Of each owner the least cost (WORST without any), and the first place that has it (-1: all are WORST)."""
    least = torch.full((owners,), WORST, dtype=torch.int64, device=cost.device)
    least.scatter_reduce_(0, owner, cost, "amin")
    place = torch.arange(cost.numel(), device=cost.device)
    at = torch.where((cost == least[owner]) & (cost < WORST), place, cost.numel())
    found = torch.full((owners,), cost.numel(), dtype=torch.int64, device=cost.device)
    found.scatter_reduce_(0, owner, at, "amin")
    return least, torch.where(found < cost.numel(), found, -1)
