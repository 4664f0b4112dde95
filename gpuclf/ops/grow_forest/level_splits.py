"""The best split of every node of a level, as tensors: the same splits, costs and ties as in cpu_splits."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.ops.grow_forest.level import (
    WORST,
    Law,
    Level,
    Listing,
    Runs,
    below,
    chained,
    first_least,
    floyd,
    relevant,
    runs_of,
    spans,
)
from gpuclf.ops.grow_forest.records import DRAWS, Table
from gpuclf.ops.grow_forest.split_costs import prefix_costs, subset_costs


@dataclass
class Best:
    """The best split of each node so far: input (n,), -1 for none; cost; listed: for each input the pairs (node, code)
    of its last winners; the pairs of other inputs' nodes are out of date. since, lists: as in Level, of what composed
    subsets were drawn from."""

    input: Tensor
    cost: Tensor
    listed: dict[int, tuple[Tensor, Tensor]]
    since: Tensor
    lists: tuple[Listing, ...] = ()

    @classmethod
    def none(cls, level: Level) -> Best:
        return cls(torch.full_like(level.key, -1), torch.full_like(level.key, WORST), {}, level.since)

    def pairs(self) -> tuple[Tensor, Tensor]:
        """(node, code) of what goes left everywhere, by node and code."""
        nodes, codes = [self.input[:0]], [self.input[:0]]
        for i, (node, code) in self.listed.items():
            kept = self.input[node] == i
            nodes.append(node[kept])
            codes.append(code[kept])
        node, code = torch.cat(nodes), torch.cat(codes)
        order = torch.argsort(code, stable=True)
        order = order[torch.argsort(node[order], stable=True)]
        return node[order], code[order]


def best_composed(law: Law, table: Table, level: Level) -> Best:
    """The best of the F composed features of each node; where a list from above has none, of the node's own values."""
    inputs = [runs_of(level, table.codes[:, i].long(), values) for i, values in enumerate(table.num_values)]
    best = _composed_of(law, table, level, inputs)
    again = torch.nonzero((level.since > 0) & (best.input < 0)).flatten()
    return _composed_of(law, table, level.recounted(again), inputs) if again.numel() else best


def _composed_of(law: Law, table: Table, level: Level, inputs: list[Runs]) -> Best:
    lists = [relevant(level, runs, i) for i, runs in enumerate(inputs)]
    distinct = torch.stack([listing.distinct for listing in lists], 1)
    size = law.subset[distinct]
    offered = torch.where(size > 0, distinct // size.clamp(min=1), 0)
    reach = offered.cumsum(1)
    total = reach[:, -1]
    count = torch.where(total > 0, law.candidates[total], 0)
    number, node = spans(torch.zeros_like(count), count)
    draw = chained(level.key[node], DRAWS + number)
    at = below(chained(draw, 0), total[node].clamp(min=1))
    input = (reach[node] <= at[:, None]).sum(1)
    cost = torch.full_like(node, WORST)
    picks: dict[int, tuple[Tensor, Tensor]] = {}
    for i, runs in enumerate(inputs):
        mine = torch.nonzero(input == i).flatten()
        if not mine.numel():
            continue
        owner, place = _picked(table, size[node[mine], i], lists[i], i, node[mine], draw[mine])
        code = lists[i].code[place]
        picks[i] = (mine[owner], code)
        if level.lists:
            place, there = _run_of(runs, node[mine][owner], code, table.num_values[i])
            place, owner = place[there], owner[there]
        cost[mine] = subset_costs(law, level, runs, place, owner, node[mine])
    best = Best.none(level)
    best.lists = tuple(lists)
    best.cost, place = first_least(cost, node, len(level))
    best.input = torch.where(place >= 0, input[place.clamp(min=0)] if input.numel() else place, -1)
    for i, (candidate, code) in picks.items():
        won = place[node[candidate]] == candidate
        best.listed[i] = (node[candidate][won], code[won])
    return best


def _picked(table: Table, size: Tensor, listing: Listing, i: int, node: Tensor, draw: Tensor) -> tuple[Tensor, Tensor]:
    """The values of candidates at `node` (c,): pairs of a candidate and a place in listing.code; candidates rise."""
    present = listing.distinct[node]
    if table.ordered[i]:
        length = 1 + below(chained(draw, 1), (present - 1).clamp(min=1))
        place, owner = spans(listing.first[node], length)
        return owner, place
    ranks = floyd(draw, size, present, 1)
    owner, column = torch.nonzero(ranks >= 0, as_tuple=True)
    return owner, listing.first[node][owner] + ranks[owner, column]


def _run_of(runs: Runs, node: Tensor, code: Tensor, values: int) -> tuple[Tensor, Tensor]:
    """The run of each (node, code), and whether there is one."""
    held, asked = runs.node * values + runs.code, node * values + code
    run = torch.searchsorted(held, asked).clamp(max=held.numel() - 1)
    return run, held[run] == asked


def best_ordered(law: Law, table: Table, level: Level) -> Best:
    """The best prefix of ordered values (or single value) of max_features inputs of each node."""
    inputs = [runs_of(level, table.codes[:, i].long(), values) for i, values in enumerate(table.num_values)]
    varying = torch.stack([runs.distinct >= 2 for runs in inputs], 1)
    eligible = varying.sum(1)
    wanted = eligible.clamp(max=law.rules.max_features)
    ranks = floyd(chained(level.key, DRAWS), wanted, eligible, 0)
    rank = varying.cumsum(1) - 1
    chosen = varying & (ranks[:, None, :] == rank[:, :, None]).any(2)
    best = Best.none(level)
    for i, runs in enumerate(inputs):
        draw = chained(level.key, DRAWS + 1 + i)
        if law.rules.splits == "binary" and not table.ordered[i]:
            _try_values(law, level, runs, i, chosen[:, i], draw, best)
        else:
            _try_prefixes(law, level, runs, i, chosen[:, i], draw, table.ordered[i], best)
    return best


def _try_values(law: Law, level: Level, runs: Runs, i: int, chosen: Tensor, draw: Tensor, best: Best) -> None:
    """Each present value against the rest."""
    kept = chosen[runs.node]
    if law.rules.extra_trees:
        only = below(chained(draw, 1), runs.distinct.clamp(min=1))
        kept &= torch.arange(runs.node.numel(), device=kept.device) - runs.first[runs.node] == only[runs.node]
    run = torch.nonzero(kept).flatten()
    if not run.numel():
        return
    node = runs.node[run]
    cost = subset_costs(law, level, runs, run, torch.arange(run.numel(), device=run.device), node)
    won, place = _improved(best, i, cost, node)
    best.listed[i] = (won, runs.code[run[place]])


def _improved(best: Best, i: int, cost: Tensor, node: Tensor) -> tuple[Tensor, Tensor]:
    """Takes what is better than before; the nodes that improve, and the place of each one's new best."""
    least, place = first_least(cost, node, best.cost.numel())
    won = torch.nonzero((place >= 0) & (least < best.cost)).flatten()
    best.input[won], best.cost[won] = i, least[won]
    return won, place[won]


def _try_prefixes(
    law: Law, level: Level, runs: Runs, i: int, chosen: Tensor, draw: Tensor, ordered: bool, best: Best
) -> None:
    """Prefixes of the values in the order of their scores (of their codes, for an ordered input)."""
    rules = law.rules
    run = _ordered_runs(law, level, runs, chosen, draw, ordered)
    if not run.numel():
        return
    node = runs.node[run]
    held = torch.bincount(node, minlength=len(level))
    start = held.cumsum(0) - held
    length = torch.arange(run.numel(), device=run.device) - start[node] + 1
    most = torch.minimum(held, runs.distinct - 1)
    if not ordered:
        most = most.clamp(max=rules.max_prefix)
    tried = length <= most[node]
    if rules.extra_trees:
        tried &= length == (1 + below(chained(draw, 1), most.clamp(min=1)))[node]
    cost = prefix_costs(law, level, runs, run, node)
    won, place = _improved(best, i, torch.where(tried, cost, WORST), node)
    position, owner = spans(start[won], length[place])
    listed, at = run[position], won[owner]
    if rules.splits == "sorted" and not ordered:
        listed, at = _smaller_side(level, runs, won, listed)
    best.listed[i] = (at, runs.code[listed])


def _ordered_runs(law: Law, level: Level, runs: Runs, chosen: Tensor, draw: Tensor, ordered: bool) -> Tensor:
    """The runs of the chosen nodes that may be split off, by node and falling score."""
    rules = law.rules
    if ordered:
        return torch.nonzero(chosen[runs.node]).flatten()
    owner = torch.arange(runs.node.numel(), device=draw.device).repeat_interleave(runs.end - runs.begin)
    weight, label = level.weight[runs.entry].long(), level.label[runs.entry]
    held = torch.zeros_like(runs.node).index_add_(0, owner, weight)
    rows = level.counts.sum(1)
    if rules.order == "projection":
        part = weight * (chained(draw[runs.node[owner]], label) >> 48)
        score = torch.zeros_like(runs.node).index_add_(0, owner, part).double() / held
    else:
        at = below(chained(draw, 0), rows)
        target = (level.counts.cumsum(1) <= at[:, None]).sum(1)
        part = weight * (label == target[runs.node[owner]])
        mass = torch.zeros_like(runs.node).index_add_(0, owner, part).double()
        in_node = level.counts.gather(1, target[:, None]).squeeze(1)
        share = rules.smoothing * (in_node.double() / rows)
        score = (mass + share[runs.node]) / (held + rules.smoothing)
    kept = torch.nonzero(chosen[runs.node] & (held >= rules.min_category_rows)).flatten()
    kept = kept[torch.sort(score[kept], descending=True, stable=True).indices]
    return kept[torch.sort(runs.node[kept], stable=True).indices]


def _smaller_side(level: Level, runs: Runs, won: Tensor, listed: Tensor) -> tuple[Tensor, Tensor]:
    """The runs (and their nodes) to list: those listed, or where they hold over half of the rows, the node's others."""
    inside = torch.zeros(runs.node.numel(), dtype=torch.bool, device=listed.device)
    inside[listed] = True
    owner = torch.arange(runs.node.numel(), device=listed.device).repeat_interleave(runs.end - runs.begin)
    held = torch.zeros_like(runs.node).index_add_(0, owner, level.weight[runs.entry].long())
    taken = torch.zeros_like(level.key).index_add_(0, runs.node, torch.where(inside, held, 0))
    flip = 2 * taken > level.counts.sum(1)
    here = torch.zeros(len(level), dtype=torch.bool, device=listed.device)
    here[won] = True
    kept = torch.nonzero(here[runs.node] & (inside != flip[runs.node])).flatten()
    return kept, runs.node[kept]
