"""Level-synchronous growth: all trees, level after level, as one tensor program, for any device.

The trees are those of the CPU kernel, to the last bit.

Rows of finished leaves leave the work; a level's memory follows its rows, never nodes × inputs × values × classes.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gpuclf.ops.grow_forest.level import Law, Level, Listing, chained, class_counts
from gpuclf.ops.grow_forest.level_splits import Best, best_composed, best_ordered
from gpuclf.ops.grow_forest.records import (
    LEAF,
    LEFT,
    PADDING,
    RIGHT,
    TERM_BITS,
    GrowthRules,
    Table,
    Trees,
    terms,
)

_ROW_BYTES = 600  # what a row of a tree takes at its widest level, with the runs of its inputs
_CPU_BYTES = 1 << 30


def grow_forest(
    table: Table, labels: Tensor, weight: Tensor, sample: Tensor, class_weight: Tensor, keys: Tensor, rules: GrowthRules
) -> Trees:
    """See gpuclf.ops.grow_forest.grow_forest. Trees are grown in batches that fit into memory."""
    device = labels.device
    most = max(int((times[labels] * copies).sum()) for times, copies in zip(class_weight, weight, strict=True))
    law = Law(
        rules,
        torch.from_numpy(rules.subset_sizes(max(table.num_values))).to(device),
        torch.from_numpy(rules.candidate_counts(sum(table.num_values))).to(device),
        torch.from_numpy(terms(0 if rules.criterion == "gini" else most)).to(device),
    )
    budget = torch.cuda.mem_get_info(device)[0] // 2 if device.type == "cuda" else _CPU_BYTES
    batch = max(1, int(budget // (_ROW_BYTES * max(1, labels.numel()))))
    parts = []
    for start in range(0, keys.numel(), batch):
        portion = slice(start, start + batch)
        parts.append(_Growth(table, labels, weight, sample[portion], class_weight, keys[portion], law).trees())
    return _together(parts)


class _Growth:
    """One batch of trees, and the levels that are finished."""

    def __init__(
        self, table: Table, labels: Tensor, weight: Tensor, sample: Tensor, class_weight: Tensor, keys: Tensor, law: Law
    ):
        self.table, self.law, self.sample, self.class_weight = table, law, sample, class_weight
        self.tree = torch.arange(keys.numel(), device=keys.device)
        self.key = keys
        self.node, self.row = torch.nonzero(weight[sample] > 0, as_tuple=True)
        self.label, self.weight = labels[self.row], weight[sample][self.node, self.row]
        classes = class_weight.shape[1]
        rows = class_counts(self.node, self.label, self.weight, keys.numel(), classes)
        self.frequency = rows * class_weight[sample]
        self.nodes = torch.ones_like(keys)
        self.filled = torch.zeros_like(keys)
        self.gain = torch.zeros(keys.numel(), len(table.num_values), dtype=torch.int64, device=keys.device)
        self.depth = torch.zeros_like(keys)
        self.since = torch.zeros_like(keys)  # of the nodes at work, with their lists: see level.Level
        self.lists: tuple[Listing, ...] = ()
        self.levels: list[dict[str, Tensor]] = []
        self.values: list[tuple[Tensor, Tensor, Tensor]] = []  # tree, place, number

    def trees(self) -> Trees:
        level = 0
        while self.tree.numel():
            self._level(level)
            level += 1
        return self._assembled()

    def _level(self, depth: int) -> None:
        """Splits the nodes of one level or makes them leaves, and leaves their children as the next level."""
        rules, classes = self.law.rules, self.class_weight.shape[1]
        self.depth[self.tree] = depth
        counts = class_counts(self.node, self.label, self.weight, self.tree.numel(), classes)
        times = self.class_weight[self.sample[self.tree]]
        rows = counts.sum(1)
        may = ((counts > 0).sum(1) > 1) & (rows >= rules.min_samples_split) & (depth < rules.max_depth)
        place = may.cumsum(0) - 1  # of a node among those that may be split
        live = may[self.node]
        stands = (rows >= rules.recount_below) & (2 * rows > self.since)
        level = Level(
            self.key[may], counts[may], times[may], place[self.node[live]], self.row[live], self.label[live],
            self.weight[live], torch.where(stands, self.since, 0)[may],
            tuple(listing.of(torch.nonzero(may).flatten()) for listing in self.lists),
        )  # fmt: skip
        find = best_composed if rules.splits == "composed" else best_ordered
        best = find(self.law, self.table, level) if len(level) else Best.none(level)
        node, code = best.pairs()
        input = torch.full_like(self.tree, LEAF)
        input[may] = best.input
        self._gain(level, best, self.tree[may])
        self._hand_down(level, best, rows[may])
        self._write(input, counts, times, rows, torch.nonzero(may).flatten()[node], code)
        self._descend(input, torch.nonzero(may).flatten()[node], code)

    def _hand_down(self, level: Level, best: Best, rows: Tensor) -> None:
        """What the children go by; lists that are of no use to a child are left out."""
        rules = self.law.rules
        parent = torch.nonzero(best.input >= 0).flatten().repeat_interleave(2)
        self.since = torch.zeros_like(parent)
        if rules.relevant == "lazy" and rules.splits == "composed":
            idle = rows <= rules.recount_below
            since = torch.where(best.since > 0, best.since, rows)
            self.since = torch.where(idle, 0, since)[parent]
            self.lists = tuple(listing.without(idle).of(parent) for listing in best.lists)

    def _gain(self, level: Level, best: Best, tree: Tensor) -> None:
        split = best.input >= 0
        x = (level.times * level.counts)[split]
        whole, inside = x.sum(1), self.law.term(x).sum(1)
        if self.law.gini:
            before = -(inside.double() / whole * float(1 << TERM_BITS)).to(torch.int64)
        else:
            before = self.law.terms[whole] - inside
        cell = tree[split] * self.gain.shape[1] + best.input[split]
        self.gain.view(-1).index_add_(0, cell, before - best.cost[split])

    def _ordered(self, input: Tensor) -> Tensor:
        ordered = torch.tensor(self.table.ordered, device=input.device)
        return (input >= 0) & ordered[input.clamp(min=0)]

    def _write(self, input: Tensor, counts: Tensor, times: Tensor, rows: Tensor, node: Tensor, code: Tensor) -> None:
        """One record a node: what Trees holds of it, and its codes or pairs."""
        split, ordered = input >= 0, self._ordered(input)
        kinds = torch.where(split, 0, (counts > 0).sum(1))
        kinds = torch.where(kinds > 1, kinds, 0)
        listed = torch.bincount(node, minlength=input.numel())
        length = torch.where(ordered, 0, torch.where(split, listed, 2 * kinds))
        start = _within(length, self.tree) + self.filled[self.tree]
        before = _within(split.long(), self.tree)
        left = torch.where(
            split, self.nodes[self.tree] + 2 * before, _winner(counts * times, self.frequency[self.tree])
        )
        size = torch.where(ordered, -1, torch.where(split, listed, kinds))
        threshold = torch.zeros_like(start).scatter_reduce_(0, node, code, "amax")
        self.levels.append({
            "tree": self.tree, "input": input, "left": left, "first": torch.where(ordered, threshold, start),
            "size": size, "rows": rows,
        })  # fmt: skip
        kept = ~ordered[node]
        inside = torch.arange(node.numel(), device=node.device) - (listed.cumsum(0) - listed)[node]
        self.values.append((self.tree[node][kept], (start[node] + inside)[kept], code[kept]))
        owner, label = torch.nonzero((counts > 0) & (kinds > 0)[:, None], as_tuple=True)
        rank = torch.arange(owner.numel(), device=owner.device) - (kinds.cumsum(0) - kinds)[owner]
        at = start[owner] + 2 * rank
        self.values.append((self.tree[owner], at, label))
        self.values.append((self.tree[owner], at + 1, (counts * times)[owner, label]))
        self.filled.index_add_(0, self.tree, length)
        self.nodes.index_add_(0, self.tree, 2 * split.long())

    def _descend(self, input: Tensor, node: Tensor, code: Tensor) -> None:
        """Routes the rows of split nodes to the children."""
        split, ordered = input >= 0, self._ordered(input)
        live = split[self.node]
        at, row = self.node[live], self.row[live]
        own = self.table.codes[row, input[at]].long()
        width = max(self.table.num_values)
        listed = node * width + code
        asked = at * width + own
        place = torch.searchsorted(listed, asked).clamp(max=max(0, listed.numel() - 1))
        goes_left = (listed[place] == asked) if listed.numel() else torch.zeros_like(asked, dtype=torch.bool)
        threshold = torch.full_like(input, -1).scatter_reduce_(0, node, code, "amax")
        goes_left = torch.where(ordered[at], own <= threshold[at], goes_left)
        child = 2 * (split.cumsum(0) - 1)[at] + (~goes_left).long()
        self.node, order = torch.sort(child, stable=True)
        self.row, self.label, self.weight = row[order], self.label[live][order], self.weight[live][order]
        self.tree = self.tree[split].repeat_interleave(2)
        key = self.key[split]
        self.key = torch.stack([chained(key, LEFT), chained(key, RIGHT)], 1).flatten()

    def _assembled(self) -> Trees:
        """The records of all levels, tree by tree."""
        columns = {name: torch.cat([level[name] for level in self.levels]) for name in self.levels[0]}
        tree = columns.pop("tree")
        order = torch.argsort(tree, stable=True)
        tree = tree[order]
        number = torch.arange(tree.numel(), device=tree.device) - (self.nodes.cumsum(0) - self.nodes)[tree]
        shape = (self.nodes.numel(), int(self.nodes.max()))
        made = {}
        for name, column in columns.items():
            made[name] = torch.full(shape, PADDING if name == "input" else 0, dtype=torch.int32, device=tree.device)
            made[name][tree, number] = column[order].to(torch.int32)
        values = torch.zeros(shape[0], max(1, int(self.filled.max())), dtype=torch.int32, device=tree.device)
        for owner, place, value in self.values:
            values[owner, place] = value.to(torch.int32)
        gain = self.gain.to(torch.float64) / float(1 << TERM_BITS)
        return Trees(self.nodes.to(torch.int32), **made, values=values, depth=self.depth.to(torch.int32), gain=gain)


def _within(length: Tensor, tree: Tensor) -> Tensor:
    """Sums of `length` over the earlier nodes of the same tree; nodes stand by tree."""
    before = length.cumsum(0) - length
    first = torch.searchsorted(tree, tree)
    return before - before[first]


def _winner(weighted: Tensor, frequency: Tensor) -> Tensor:
    """(n,) the class of most weighted rows; ties to the more frequent one in the sample, then to the first."""
    most = weighted == weighted.max(1, keepdim=True).values
    frequent = torch.where(most, frequency, -1)
    best = frequent == frequent.max(1, keepdim=True).values
    place = torch.arange(weighted.shape[1], device=weighted.device)
    return torch.where(best, place, weighted.shape[1]).min(1).values


def _together(parts: list[Trees]) -> Trees:
    """The batches one after the other."""
    if len(parts) == 1:
        return parts[0]
    joined = {}
    for name in ("nodes", "input", "left", "first", "size", "rows", "values", "depth", "gain"):
        tensors = [getattr(part, name) for part in parts]
        if tensors[0].dim() == 2 and name != "gain":
            longest = max(tensor.shape[1] for tensor in tensors)
            fill = PADDING if name == "input" else 0
            tensors = [torch.nn.functional.pad(t, (0, longest - t.shape[1]), value=fill) for t in tensors]
        joined[name] = torch.cat(tensors)
    return replace(parts[0], **joined)
