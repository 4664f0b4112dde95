"""Trees of gradients on an accelerator: all classes' trees level by level, as tensors. Runs on every device.

An entry is a group of rows in the sample of a class; a cell is a value of an input at a node.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.ops.boost_round.cuda_splits import Cells, LevelNodes, Splits, best_splits
from gpuclf.ops.boost_round.records import SCALE_BITS, BoostRules, BoostTrees
from gpuclf.ops.class_slopes import ClassSlopes

_MOST_LEVELS = 30  # as on the CPU


def boost_round(
    codes: Tensor,
    num_values: tuple[int, ...],
    ordered: tuple[bool, ...],
    slopes: ClassSlopes,
    rules: BoostRules,
) -> BoostTrees:
    """See gpuclf.ops.boost_round.boost_round."""
    classes, device = slopes.begin.numel() - 1, codes.device
    entry_class = torch.arange(classes, device=device).repeat_interleave(slopes.begin.diff())
    own = codes[slopes.group.long()]
    node, kinds = entry_class, torch.arange(classes, device=device)  # nodes of a level are numbered over all classes
    numbers = torch.zeros(classes, dtype=torch.int64, device=device)  # of the level's nodes in their trees
    sums = [slopes.held.long(), slopes.gradient, slopes.curvature]
    entry = torch.arange(node.numel(), device=device)
    drafts: list[_Level] = []
    gain = torch.zeros(len(num_values), dtype=torch.float64, device=device)
    next_number = torch.ones(classes, dtype=torch.int64, device=device)
    for level in range(min(rules.max_depth, _MOST_LEVELS) + 1):
        here = LevelNodes.of(node, kinds.numel(), *(part[entry] for part in sums))
        last = level == min(rules.max_depth, _MOST_LEVELS)
        splits = best_splits(own[entry], num_values, ordered, here, rules, nothing=last)
        split = splits.input >= 0
        gain.index_add_(0, splits.input[split], splits.gain[split])
        rank = _rank_in_class(split, kinds, classes)
        left = torch.where(split, next_number[kinds] + 2 * rank, 0)
        drafts.append(_Level(kinds, numbers, splits, left, _leaves(here, split, rules)))
        if not bool(split.any()):
            break
        next_number = next_number.index_add(0, kinds[split], torch.full_like(kinds[split], 2))
        child = torch.cumsum(split, 0) - 1  # of split nodes: children 2 · child and 2 · child + 1 of the next level
        stays = split[node]
        entry, node = entry[stays], 2 * child[node[stays]] + (~splits.goes_left[stays]).long()
        kinds = kinds[split].repeat_interleave(2)
        numbers = (left[split][:, None] + torch.arange(2, device=device)).flatten()
    return _assembled(drafts, codes, max(num_values, default=1), classes, gain)


@dataclass(frozen=True)
class _Level:
    """Nodes of a level: their classes, numbers in their trees, splits, left children and leaf values."""

    kinds: Tensor
    numbers: Tensor
    splits: Splits
    left: Tensor
    leaf: Tensor


def _rank_in_class(split: Tensor, kinds: Tensor, classes: int) -> Tensor:
    """Of every split node, the number of split nodes of its class before it; nodes stand class by class."""
    before = torch.cumsum(split, 0) - split.long()
    first = torch.full((classes,), split.numel(), dtype=torch.int64, device=split.device)
    first.scatter_reduce_(0, kinds, before, "amin")
    return before - first[kinds]


def _leaves(here: LevelNodes, split: Tensor, rules: BoostRules) -> Tensor:
    """(nodes,) float32: -G / (H + l2) of leaves, 0 of others."""
    unit = float(1 << SCALE_BITS)
    below = here.curvature.double() / unit + rules.l2
    value = torch.where(below > 0, -(here.gradient.double() / unit) / below, 0.0)
    return torch.where(split, 0.0, value).to(torch.float32)


def _assembled(drafts: list[_Level], codes: Tensor, widest: int, classes: int, gain: Tensor) -> BoostTrees:
    """The trees of all levels, and the value of every group's leaf."""
    kinds, numbers, left, leaf = (
        torch.cat([getattr(draft, name) for draft in drafts]) for name in ("kinds", "numbers", "left", "leaf")
    )
    input, size, threshold = (
        torch.cat([getattr(draft.splits, name) for draft in drafts]) for name in ("input", "size", "threshold")
    )
    counts = torch.bincount(kinds, minlength=classes)
    longest = int(counts.max())
    place = kinds * longest + numbers
    listed = size.clamp(min=0)
    begin = torch.zeros(classes, longest, dtype=torch.int64, device=codes.device)
    begin.view(-1)[place] = listed
    begin = begin.cumsum(1) - begin  # where a node's values stand among those of its tree
    first = torch.where(size < 0, threshold, begin.view(-1)[place])

    def table(part: Tensor, fill: int, kind: torch.dtype = torch.int32) -> Tensor:
        made = torch.full((classes, longest), fill, dtype=kind, device=codes.device)
        made.view(-1)[place] = part.to(kind)
        return made

    start = 0
    owner, value = [], []
    for draft in drafts:
        owner.append(start + draft.splits.owner)
        value.append(draft.splits.value)
        start += draft.kinds.numel()
    of_node, code = torch.cat(owner), torch.cat(value)
    order = torch.argsort(place[of_node] * widest + code)  # by class, node and value
    of_node, code = of_node[order], code[order]
    totals = torch.zeros(classes, dtype=torch.int64, device=codes.device).index_add_(0, kinds, listed)
    values = torch.zeros(classes, max(1, int(totals.max())), dtype=torch.int32, device=codes.device)
    within = torch.arange(code.numel(), device=codes.device) - (totals.cumsum(0) - totals)[kinds[of_node]]
    values[kinds[of_node], within] = code.to(torch.int32)
    trees = BoostTrees(
        nodes=counts.to(torch.int32),
        input=table(input, -2),
        left=table(left, 0),
        first=table(first, 0),
        size=table(size, 0),
        values=values,
        leaf=table(leaf, 0, torch.float32),
        change=torch.zeros(0, classes, device=codes.device),
        gain=gain,
    )
    return _followed(trees, codes, Cells(place[of_node] * widest + code, widest))


def _followed(trees: BoostTrees, codes: Tensor, listed: Cells) -> BoostTrees:
    """The trees with the change of every group: all of them walk down all trees, a level at a time."""
    classes, longest = trees.input.shape
    start = torch.arange(classes, device=codes.device) * longest
    at = start.expand(len(codes), -1).contiguous()
    row = torch.arange(len(codes), device=codes.device)[:, None].expand_as(at)
    input, left, first, size = (part.flatten().long() for part in (trees.input, trees.left, trees.first, trees.size))
    while bool((moving := input[at] >= 0).any()):
        node = at[moving]
        code = codes[row[moving], input[node]].long()
        goes_left = torch.where(size[node] < 0, code <= first[node], listed.hold(node, code))
        at[moving] = node - node % longest + left[node] + (~goes_left).long()
    change = trees.leaf.flatten()[at]
    return BoostTrees(**{name: getattr(trees, name) for name in _KEPT}, change=change)


_KEPT = ("nodes", "input", "left", "first", "size", "values", "leaf", "gain")
