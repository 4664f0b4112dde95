"""The best splits of all nodes of a level, as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.ops.boost_round.records import SCALE_BITS, BoostRules

_UNIT = float(1 << SCALE_BITS)


@dataclass(frozen=True)
class LevelNodes:
    """node (e,) int64: of each entry, with its rows, gradient and curvature; and their sums over the nodes."""

    node: Tensor
    entry_sums: tuple[Tensor, Tensor, Tensor]
    held: Tensor
    gradient: Tensor
    curvature: Tensor

    @classmethod
    def of(cls, node: Tensor, count: int, held: Tensor, gradient: Tensor, curvature: Tensor) -> LevelNodes:
        """From the entries of a level of `count` nodes."""
        entries = (held, gradient, curvature)
        return cls(node, entries, *(_sums(part, node, count) for part in entries))


@dataclass(frozen=True)
class Splits:
    """input (nodes,) int64: -1 where no split gains; size: values listed, or -1 of a threshold; threshold, gain.

    goes_left (e,) bool: of every entry. owner, value (v,) int64: the listed values, with their nodes.
    """

    input: Tensor
    size: Tensor
    threshold: Tensor
    gain: Tensor
    goes_left: Tensor
    owner: Tensor
    value: Tensor


@dataclass(frozen=True)
class Cells:
    """Pairs of node and value as numbers node · widest + value, rising."""

    number: Tensor
    widest: int

    def hold(self, node: Tensor, code: Tensor) -> Tensor:
        """Whether each pair is one of them."""
        if not self.number.numel():
            return torch.zeros_like(code, dtype=torch.bool)
        wanted = node * self.widest + code
        place = torch.searchsorted(self.number, wanted).clamp(max=self.number.numel() - 1)
        return self.number[place] == wanted


def best_splits(
    codes: Tensor,
    num_values: tuple[int, ...],
    ordered: tuple[bool, ...],
    here: LevelNodes,
    rules: BoostRules,
    nothing: bool,
) -> Splits:
    """The best split of every node; none with `nothing`. codes (e, M) int32: of the entries."""
    nodes, device = here.held.numel(), codes.device
    input = torch.full((nodes,), -1, dtype=torch.int64, device=device)
    size, threshold = torch.zeros_like(input), torch.zeros_like(input)
    gain = torch.full((nodes,), rules.min_gain, dtype=torch.float64, device=device)
    goes_left = torch.zeros(codes.shape[0], dtype=torch.bool, device=device)
    chosen: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
    for i, width in enumerate(() if nothing else num_values):
        number, cell = torch.unique(here.node * width + codes[:, i].long(), return_inverse=True)
        values = _Values.of(number, width, cell, here, ordered[i], rules)
        inside = torch.zeros(number.numel(), dtype=torch.bool, device=device)
        for backwards in (False,) if ordered[i] else (False, True):
            found, length = values.best(here, backwards, ordered[i], rules)
            better = found > gain
            gain = torch.where(better, found, gain)
            input = torch.where(better, i, input)
            taken = values.taken(length, backwards)
            inside = torch.where(better[values.node], taken, inside)
            size = torch.where(better, -1 if ordered[i] else length, size)
            if ordered[i]:
                codes_taken = torch.where(taken, values.code, -1)
                threshold = torch.where(better, _most(codes_taken, values.node, nodes), threshold)
        goes_left = torch.where(input[here.node] == i, inside[cell], goes_left)
        if not ordered[i]:
            chosen[i] = (values.node, values.code, inside)
    owner, value = [input[:0]], [input[:0]]
    for i, (node, code, inside) in chosen.items():
        kept = inside & (input[node] == i)
        owner.append(node[kept])
        value.append(code[kept])
    gain = torch.where(input >= 0, gain, 0.0)
    return Splits(input, size, threshold, gain, goes_left, torch.cat(owner), torch.cat(value))


@dataclass(frozen=True)
class _Values:
    """The values of an input at every node, (c,): node, code, held, gradient, curvature, by node and code.

    order: those that may be split off, node by node, by score; start, count (nodes,): where a node's stand in it;
    place (c,): of each value among those of its node, -1 of others; distinct (nodes,): values that a node has.
    """

    node: Tensor
    code: Tensor
    sums: tuple[Tensor, Tensor, Tensor]
    order: Tensor
    start: Tensor
    count: Tensor
    place: Tensor
    distinct: Tensor

    @classmethod
    def of(
        cls, number: Tensor, width: int, cell: Tensor, here: LevelNodes, by_code: bool, rules: BoostRules
    ) -> _Values:
        node, code = number // width, number % width
        held, gradient, curvature = (_sums(part, cell, number.numel()) for part in here.entry_sums)
        nodes = here.held.numel()
        free = torch.ones_like(held, dtype=torch.bool) if by_code else held >= rules.min_category_rows
        below = curvature.double() / _UNIT + rules.smoothing
        score = code.double() if by_code else torch.where(below > 0, gradient.double() / _UNIT / below, 0.0)
        kept = torch.nonzero(free).flatten()
        kept = kept[torch.argsort(score[kept], stable=True)]  # ties stay in the order of their codes
        order = kept[torch.argsort(node[kept], stable=True)]
        count = torch.bincount(node[order], minlength=nodes)
        start = count.cumsum(0) - count
        place = torch.full_like(node, -1)
        place[order] = torch.arange(order.numel(), device=node.device) - start[node[order]]
        distinct = torch.bincount(node, minlength=nodes)
        return cls(node, code, (held, gradient, curvature), order, start, count, place, distinct)

    def taken(self, length: Tensor, backwards: bool) -> Tensor:
        """(c,) bool: the first `length` (nodes,) values of each node's order, or the last."""
        if backwards:
            return (self.place >= 0) & (self.place >= (self.count - length)[self.node])
        return (self.place >= 0) & (self.place < length[self.node])

    def best(self, here: LevelNodes, backwards: bool, by_code: bool, rules: BoostRules) -> tuple[Tensor, Tensor]:
        """The greatest gain of each node's prefixes from one end (-inf: none may be), and the shortest with it."""
        nodes, owner = self.count.numel(), self.node[self.order]
        length = torch.arange(owner.numel(), device=owner.device) - self.start[owner] + 1
        if backwards:
            length = self.count[owner] - length + 1
        limit = torch.minimum(self.count, self.distinct - 1)
        if not by_code:
            limit = limit.clamp(max=rules.max_prefix)
        taken, slope, bend = (self._prefix(part, owner, backwards) for part in self.sums)
        left, left_bend = slope.double() / _UNIT, bend.double() / _UNIT
        all_slope, all_bend = here.gradient.double() / _UNIT, here.curvature.double() / _UNIT
        right, right_bend = all_slope[owner] - left, all_bend[owner] - left_bend
        fits = (length <= limit[owner]) & (taken >= rules.min_samples_leaf)
        fits &= here.held[owner] - taken >= rules.min_samples_leaf
        fits &= (left_bend >= rules.min_curvature) & (right_bend >= rules.min_curvature)
        whole = _worth(all_slope, all_bend, rules)[owner]
        gain = _worth(left, left_bend, rules) + _worth(right, right_bend, rules) - whole
        gain = torch.where(fits, gain, -torch.inf)
        best = torch.full((nodes,), -torch.inf, dtype=torch.float64, device=owner.device)
        best.scatter_reduce_(0, owner, gain, "amax")
        lengths = torch.where(gain == best[owner], length, length.numel() + 1)
        shortest = torch.full((nodes,), length.numel() + 1, dtype=torch.int64, device=owner.device)
        return best, shortest.scatter_reduce_(0, owner, lengths, "amin")

    def _prefix(self, part: Tensor, owner: Tensor, backwards: bool) -> Tensor:
        """Sums of the values of a node up to each place of its order, from one end."""
        of_order = part[self.order]
        total = of_order.cumsum(0)
        before = torch.cat([total.new_zeros(1), total])
        if backwards:
            return before[(self.start + self.count)[owner]] - total + of_order
        return total - before[self.start[owner]]


def _sums(part: Tensor, group: Tensor, groups: int) -> Tensor:
    return torch.zeros(groups, dtype=torch.int64, device=part.device).index_add_(0, group, part.long())


def _most(part: Tensor, group: Tensor, groups: int) -> Tensor:
    return torch.full((groups,), -1, dtype=part.dtype, device=part.device).scatter_reduce_(0, group, part, "amax")


def _worth(slope: Tensor, bend: Tensor, rules: BoostRules) -> Tensor:
    """G² / (H + l2), 0 where there is nothing below."""
    below = bend + rules.l2
    return torch.where(below > 0, slope * slope / below, 0.0)
