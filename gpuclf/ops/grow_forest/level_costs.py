"""Costs of the splits of a level, from integer class counts, as tensors. triton_walk gives the same ones on CUDA."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from gpuclf.ops.grow_forest.level import WORST, Law, Level, Runs, class_counts, spans

CELLS = 1 << 24  # class counts held at once


def subset_costs(law: Law, level: Level, runs: Runs, run: Tensor, owner: Tensor, node: Tensor) -> Tensor:
    """Costs (c,) of candidates at `node` (c,), of which candidate owner[j] takes run run[j]; owners rise."""
    classes = level.counts.shape[1]
    found = []
    step = max(1, CELLS // classes)
    for start in range(0, node.numel(), step):
        part = (owner >= start) & (owner < start + step)
        position, pick = spans(runs.begin[run[part]], (runs.end - runs.begin)[run[part]])
        entry = runs.entry[position]
        candidates = min(step, node.numel() - start)
        left = class_counts(owner[part][pick] - start, level.label[entry], level.weight[entry], candidates, classes)
        found.append(_costs(law, level, left, node[start : start + step]))
    return torch.cat(found)


def prefix_costs(law: Law, level: Level, runs: Runs, run: Tensor, node: Tensor) -> Tensor:
    """Costs (r,) of every prefix that ends at run[j], one of those at `node` (r,); runs stand by node."""
    classes = level.counts.shape[1]
    found = []
    for begin, end in whole_nodes(level, node):
        part, at = run[begin:end], node[begin:end]
        position, owner = spans(runs.begin[part], (runs.end - runs.begin)[part])
        entry = runs.entry[position]
        counts = class_counts(owner, level.label[entry], level.weight[entry], part.numel(), classes)
        running = counts.cumsum(0)
        first = torch.searchsorted(at, at, right=False)
        before = torch.where(first[:, None] > 0, running[(first - 1).clamp(min=0)], 0)
        found.append(_costs(law, level, running - before, at))
    return torch.cat(found)


def whole_nodes(level: Level, node: Tensor) -> Iterator[tuple[int, int]]:
    """Portions (begin, end) of `node` (r,), which rises: CELLS class counts or fewer, but the whole of each node."""
    ends = torch.bincount(node, minlength=len(level)).cumsum(0)
    begin, step = 0, max(1, CELLS // level.counts.shape[1])
    while begin < node.numel():
        limit = torch.searchsorted(ends, begin + step, right=True)
        end = max(int(ends[(limit - 1).clamp(min=0)]), int(ends[node[begin]]))
        yield begin, end
        begin = end


def _costs(law: Law, level: Level, left: Tensor, owner: Tensor) -> Tensor:
    """The cost of every split whose left class counts are `left` (c, K), at node `owner` (c,)."""
    times, whole = level.times[owner], level.counts[owner]
    right = whole - left
    rows, others = left.sum(1), right.sum(1)
    x, rest = times * left, times * right
    cost = law.cost(x.sum(1), rest.sum(1), law.term(x).sum(1), law.term(rest).sum(1))
    least = law.rules.min_samples_leaf
    return torch.where((rows >= least) & (others >= least), cost, WORST)
