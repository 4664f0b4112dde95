"""Costs of the splits of a level on CUDA, where torch has to index every entry and to scan class counts one by one; and
subsets of ranks, for which torch launches a dozen kernels an element.

A program walks over the runs of a group and counts classes without atomics; another takes running sums in a node and
their costs in one pass. Counts are whole numbers, and the Gini cost is rounded as in `Law.cost`: the bits are those of
level_costs.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuclf.ops.grow_forest import level_costs
from gpuclf.ops.grow_forest.level import WORST, Law, Level, Runs
from gpuclf.ops.grow_forest.records import TERM_BITS

MOST_CLASSES = 512  # beyond it a program has no room for a row of counts
MOST_RANKS = 128  # likewise, of a subset
_TILE = 1024  # class counts in a program's hands at once


def subset_costs(law: Law, level: Level, runs: Runs, run: Tensor, owner: Tensor, node: Tensor) -> Tensor:
    """See level_costs."""
    first = _reach(owner, node.numel())
    cost = torch.empty_like(node)
    step = max(1, level_costs.CELLS // level.counts.shape[1])
    for start in range(0, node.numel(), step):
        at = node[start : start + step]
        counts = _counted(level, runs, run, first[start : start + step + 1])
        _cost_of(law, level, counts, at, None, cost[start : start + step])
    return cost


def prefix_costs(law: Law, level: Level, runs: Runs, run: Tensor, node: Tensor) -> Tensor:
    """See level_costs."""
    cost = torch.empty_like(node)
    each = torch.arange(run.numel() + 1, device=run.device)
    for begin, end in level_costs.whole_nodes(level, node):
        counts = _counted(level, runs, run, each[begin : end + 1])
        first = _reach(node[begin:end], len(level))
        _cost_of(law, level, counts, node[begin:end], first, cost[begin:end])
    return cost


def floyd(draw: Tensor, size: Tensor, among: Tensor, first: int, most: int) -> Tensor:
    """See level; `most` is the greatest size."""
    picks = torch.empty(size.numel(), most, dtype=torch.int64, device=draw.device)
    if picks.numel():
        side = triton.next_power_of_2(most)
        tile = max(1, min(32, _TILE // side))
        _floyd_kernel[(triton.cdiv(size.numel(), tile),)](
            draw.contiguous(), size.contiguous(), among.contiguous(), picks, size.numel(), most, first,
            MOST=side, TILE=tile,
        )  # fmt: skip
    return picks


def _reach(owner: Tensor, owners: int) -> Tensor:
    """(owners + 1,): where each owner's places begin in `owner`, which rises, and their end."""
    return torch.searchsorted(owner, torch.arange(owners + 1, device=owner.device))


def _counted(level: Level, runs: Runs, run: Tensor, first: Tensor) -> Tensor:
    """(groups, K) int32: weighted rows by class of the groups run[first[g] : first[g + 1]]."""
    classes = level.counts.shape[1]
    counts = torch.empty(first.numel() - 1, classes, dtype=torch.int32, device=run.device)
    side = triton.next_power_of_2(classes)
    _count_kernel[(len(counts),)](
        first, run.contiguous(), runs.begin, runs.end, runs.entry, level.label, level.weight, counts, classes,
        CLASSES=side, ENTRIES=max(4, min(32, 4 * _TILE // side)), num_warps=1 if side <= 64 else 4,
    )  # fmt: skip
    return counts


def _cost_of(law: Law, level: Level, counts: Tensor, node: Tensor, first: Tensor | None, cost: Tensor) -> None:
    """Writes the costs of `counts` (c, K) at `node` (c,); with `first` (n + 1,) they add up from a node's first on."""
    places, classes = counts.shape
    side = triton.next_power_of_2(classes)
    tile = max(2, min(32, _TILE // side))
    programs = triton.cdiv(places, tile) if first is None else len(level)
    _cost_kernel[(programs,)](
        counts, node, node if first is None else first, level.counts, level.times, law.terms, cost,
        places, classes, law.rules.min_samples_leaf,
        RUNNING=first is not None, GINI=law.gini, WORST=WORST, UNIT=1 << TERM_BITS, CLASSES=side, TILE=tile,
    )  # fmt: skip


@triton.jit
def _count_kernel(
    first, run, run_begin, run_end, entries, labels, weights, counts, classes,
    CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    group = tl.program_id(0).to(tl.int64)
    kind, lane = tl.arange(0, CLASSES), tl.arange(0, ENTRIES)
    seen = kind * 0
    for place in range(tl.load(first + group), tl.load(first + group + 1)):
        of = tl.load(run + place)
        end = tl.load(run_end + of)
        for begin in range(tl.load(run_begin + of), end, ENTRIES):
            inside = begin + lane < end
            entry = tl.load(entries + begin + lane, mask=inside, other=0)
            label = tl.load(labels + entry, mask=inside, other=0).to(tl.int32)
            weight = tl.load(weights + entry, mask=inside, other=0)
            seen += tl.sum(tl.where(label[:, None] == kind[None, :], weight[:, None], 0), axis=0)
    tl.store(counts + group * classes + kind, seen, mask=kind < classes)


@triton.jit
def _side(x, terms, GINI: tl.constexpr):
    """Of weighted rows (places, classes): their sum, and the sum of `Law.term`."""
    term = x * x if GINI else tl.load(terms + x)
    return tl.sum(x, axis=1), tl.sum(term, axis=1)


@triton.jit
def _split_cost(left, whole, times, terms, least, GINI: tl.constexpr, WORST: tl.constexpr, UNIT: tl.constexpr):
    """(places,) costs of splits off `whole` (or 1, classes) with `left` (places, classes)."""
    right = whole - left
    some, others = tl.sum(left, axis=1), tl.sum(right, axis=1)
    a, in_a = _side(left * times, terms, GINI)
    b, in_b = _side(right * times, terms, GINI)
    if GINI:
        one = in_a.to(tl.float64) / tl.maximum(a, 1).to(tl.float64)
        other = in_b.to(tl.float64) / tl.maximum(b, 1).to(tl.float64)
        cost = -((one + other) * UNIT).to(tl.int64)
    else:
        cost = tl.load(terms + a) + tl.load(terms + b) - in_a - in_b
    fits = (a > 0) & (b > 0) & (some >= least) & (others >= least)
    return tl.where(fits, cost, WORST)


@triton.jit
def _cost_kernel(
    counts, nodes, first, node_counts, node_times, terms, costs, places, classes, least,
    RUNNING: tl.constexpr, GINI: tl.constexpr, WORST: tl.constexpr, UNIT: tl.constexpr,
    CLASSES: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    kind, lane = tl.arange(0, CLASSES), tl.arange(0, TILE)
    real = kind < classes
    if RUNNING:
        whole = tl.load(node_counts + program * classes + kind, mask=real, other=0)[None, :]
        times = tl.load(node_times + program * classes + kind, mask=real, other=0)[None, :]
        before = kind.to(tl.int64) * 0
        end = tl.load(first + program + 1)
        for begin in range(tl.load(first + program), end, TILE):
            place = begin + lane
            cells = place[:, None] * classes + kind[None, :]
            inside = place < end
            own = tl.load(counts + cells, mask=inside[:, None] & real[None, :], other=0).to(tl.int64)
            left = before[None, :] + tl.cumsum(own, axis=0)
            cost = _split_cost(left, whole, times, terms, least, GINI, WORST, UNIT)
            tl.store(costs + place, cost, mask=inside)
            before += tl.sum(own, axis=0)
    else:
        place = program * TILE + lane
        inside = place < places
        node = tl.load(nodes + place, mask=inside, other=0)
        mask = inside[:, None] & real[None, :]
        left = tl.load(counts + place[:, None] * classes + kind[None, :], mask=mask, other=0).to(tl.int64)
        whole = tl.load(node_counts + node[:, None] * classes + kind[None, :], mask=mask, other=0)
        times = tl.load(node_times + node[:, None] * classes + kind[None, :], mask=mask, other=0)
        cost = _split_cost(left, whole, times, terms, least, GINI, WORST, UNIT)
        tl.store(costs + place, cost, mask=inside)


@triton.jit
def _mixed(state):
    """The finaliser of gpuclf.ops.counter_hash, of uint64."""
    z = state + 0x9E3779B97F4A7C15
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


@triton.jit
def _floyd_kernel(draws, sizes, amongs, picks, candidates, most, first, MOST: tl.constexpr, TILE: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, MOST)
    inside = place < candidates
    draw = tl.load(draws + place, mask=inside, other=0)
    size = tl.load(sizes + place, mask=inside, other=0)
    among = tl.load(amongs + place, mask=inside, other=0)
    held = tl.zeros((TILE, MOST), dtype=tl.int64) - 1
    for step in range(most):
        last = among - size + step
        limit = tl.maximum(last + 1, 1).to(tl.uint64)
        rank = (((_mixed((draw + first + step).to(tl.uint64)) >> 32) * limit) >> 32).to(tl.int64)
        taken = tl.sum((held == rank[:, None]).to(tl.int32), axis=1) > 0
        rank = tl.where(step < size, tl.where(taken, last, rank), -1)
        held = tl.where(column[None, :] == step, rank[:, None], held)
    tl.store(picks + place[:, None] * most + column[None, :], held, mask=inside[:, None] & (column < most)[None, :])
