"""A round of boosting as it is written down, one node and one split after the other, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.boost_round.records import SCALE_BITS, BoostRules, BoostTrees
from gpuclf.ops.class_slopes import ClassSlopes

_UNIT = float(1 << SCALE_BITS)


def boost_round(
    codes: Tensor,
    num_values: tuple[int, ...],
    ordered: tuple[bool, ...],
    slopes: ClassSlopes,
    rules: BoostRules,
) -> BoostTrees:
    """See gpuclf.ops.boost_round.boost_round."""
    table, begin = codes.tolist(), slopes.begin.tolist()
    change = torch.zeros(len(table), len(begin) - 1, dtype=torch.float32)
    grown = []
    for k in range(len(begin) - 1):
        parts = (slopes.group, slopes.held, slopes.gradient, slopes.curvature)
        group, *of_class = (part[begin[k] : begin[k + 1]].tolist() for part in parts)
        own = {row: figures for row, *figures in zip(group, *of_class, strict=True)}
        growth = _Growth(table, ordered, own, rules)
        grown.append(growth.tree(group))
        for row in range(len(table)):
            change[row, k] = growth.value(grown[-1], row)
    longest = [max(1, max(len(tree[part]) for tree in grown)) for part in range(6)]
    made = []
    for part, fill in enumerate((-2, 0, 0, 0, 0, 0)):
        padded = [tree[part] + [fill] * (longest[part] - len(tree[part])) for tree in grown]
        made.append(torch.tensor(padded, dtype=torch.float32 if part == 5 else torch.int32, device=codes.device))
    nodes = torch.tensor([len(tree[0]) for tree in grown], dtype=torch.int32, device=codes.device)
    gain = torch.tensor([tree[6] for tree in grown], dtype=torch.float64, device=codes.device).sum(0)
    input, left, first, size, values, leaf = made
    return BoostTrees(nodes, input, left, first, size, values, leaf, change.to(codes.device), gain)


class _Growth:
    """The tree of one class."""

    def __init__(self, codes: Any, ordered: Any, slopes: dict[int, list[int]], rules: BoostRules):
        self.codes, self.ordered, self.slopes, self.rules = codes, ordered, slopes, rules

    def tree(self, rows: list[int]) -> tuple[Any, ...]:
        """input, left, first, size, values, leaf, gains."""
        queue = [(rows, 0)]
        input, left, first, size, leaf = [], [], [], [], []
        values: list[int] = []
        gains = [0.0] * len(self.ordered)
        for here, depth in queue:  # grows while it is walked: breadth first
            split = self.best(here) if depth < self.rules.max_depth else None
            first.append(len(values))
            if split is None:
                slope, bend = self.sums(here)
                input.append(-1)
                left.append(0)
                size.append(0)
                leaf.append(float(np.float32(_quotient(-slope, bend + self.rules.l2))))
                continue
            i, chosen, gain = split
            gains[i] += gain
            input.append(i)
            left.append(len(queue))
            leaf.append(0.0)
            size.append(-1 if self.ordered[i] else len(chosen))
            if self.ordered[i]:
                first[-1] = max(chosen)
            else:
                values += sorted(chosen)
            listed = set(chosen)
            queue.append(([row for row in here if self.codes[row][i] in listed], depth + 1))
            queue.append(([row for row in here if self.codes[row][i] not in listed], depth + 1))
        return input, left, first, size, values, leaf, gains

    def value(self, tree: tuple[Any, ...], row: int) -> float:
        """The value of the leaf that a row ends in."""
        input, left, first, size, values, leaf = tree[:6]
        node = 0
        while input[node] >= 0:
            code = self.codes[row][input[node]]
            inside = code <= first[node] if size[node] < 0 else code in values[first[node] : first[node] + size[node]]
            node = left[node] if inside else left[node] + 1
        return float(leaf[node])

    def best(self, rows: list[int]) -> tuple[int, list[int], float] | None:
        """Input, the codes that go left and gain of the best split; None where none gains."""
        rules, best = self.rules, None
        to_beat = rules.min_gain
        whole = self.gain(*self.sums(rows))
        for i in range(len(self.ordered)):
            groups: dict[int, list[int]] = defaultdict(list)
            for row in rows:
                groups[self.codes[row][i]].append(row)
            if len(groups) < 2:
                continue
            for order in self.orders(i, groups):
                limit = min(len(order), len(groups) - 1)
                for length in range(1, (limit if self.ordered[i] else min(limit, rules.max_prefix)) + 1):
                    inside = [row for code in order[:length] for row in groups[code]]
                    if min(self.held(inside), self.held(rows) - self.held(inside)) < rules.min_samples_leaf:
                        continue
                    slope, bend = self.sums(inside)
                    all_slope, all_bend = self.sums(rows)
                    if min(bend, all_bend - bend) < rules.min_curvature:
                        continue
                    gain = self.gain(slope, bend) + self.gain(all_slope - slope, all_bend - bend) - whole
                    if gain > to_beat:
                        to_beat, best = gain, (i, order[:length], gain)
        return best

    def orders(self, i: int, groups: dict[int, list[int]]) -> list[list[int]]:
        """The values that may be split off, in the order in which prefixes are tried: by score, from either end."""
        if self.ordered[i]:
            return [sorted(groups)]
        scores = {}
        for code, rows in groups.items():
            slope, bend = self.sums(rows)
            if self.held(rows) >= self.rules.min_category_rows:
                scores[code] = _quotient(slope, bend + self.rules.smoothing)
        order = sorted(scores, key=lambda code: (scores[code], code))
        return [order, order[::-1]]

    def gain(self, slope: float, bend: float) -> float:
        return _quotient(slope**2, bend + self.rules.l2)

    def sums(self, rows: list[int]) -> tuple[float, float]:
        """G and H of some groups."""
        return sum(self.slopes[row][1] for row in rows) / _UNIT, sum(self.slopes[row][2] for row in rows) / _UNIT

    def held(self, rows: list[int]) -> int:
        """Rows of some groups."""
        return sum(self.slopes[row][0] for row in rows)


def _quotient(one: float, other: float) -> float:
    """Of a sum that is 0, as that of no curvature without l2: 0."""
    return one / other if other > 0 else 0.0
