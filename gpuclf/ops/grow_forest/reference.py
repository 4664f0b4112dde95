"""Growth as it is written down: one tree, one node, one draw after the other, in plain Python. Slow, and right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64_numpy
from gpuclf.ops.grow_forest.records import (
    DRAWS,
    LEAF,
    LEFT,
    PADDING,
    RIGHT,
    TERM_BITS,
    GrowthRules,
    Table,
    Trees,
    padded,
    terms,
)


def grow_forest(
    table: Table, labels: Tensor, weight: Tensor, sample: Tensor, class_weight: Tensor, keys: Tensor, rules: GrowthRules
) -> Trees:
    """See gpuclf.ops.grow_forest.grow_forest."""
    trees = []
    for key, place in zip(keys.tolist(), sample.tolist(), strict=True):
        given = zip(table.codes.tolist(), labels.tolist(), weight[place].tolist(), strict=True)
        rows = [Row(tuple(codes), label, times) for codes, label, times in given if times]
        trees.append(Growth(table, rows, class_weight[place].tolist(), rules).tree(key))
    columns: list[Any] = list(zip(*trees, strict=True))
    fills = (PADDING, 0, 0, 0, 0, 0)
    arrays = [padded([np.array(part, np.int32) for part in c], f) for c, f in zip(columns[:6], fills, strict=True)]
    nodes = torch.tensor([len(part) for part in columns[0]], dtype=torch.int32)
    depth, gain = torch.tensor(columns[6], dtype=torch.int32), torch.tensor(columns[7], dtype=torch.float64)
    device = labels.device
    return Trees(*(t.to(device) for t in (nodes, *arrays, depth, gain)))


@dataclass(frozen=True)
class Row:
    """A training row: its code of every input, its class, how often it stands in the sample."""

    codes: tuple[int, ...]
    label: int
    times: int


@dataclass
class Split:
    """A candidate: rows whose code of `input` is in `codes` go left; of an ordered input up to the largest of them."""

    input: int
    codes: list[int]
    cost: int


@dataclass
class Listing:
    """The relevant values of every input, as a node of so many rows counted them."""

    rows: int
    values: list[list[int]]


class Growth:
    """One tree of one sample of rows."""

    def __init__(self, table: Table, rows: list[Row], class_weight: list[int], rules: GrowthRules):
        self.table, self.rows, self.class_weight, self.rules = table, rows, class_weight, rules
        self.subset_sizes = rules.subset_sizes(max(table.num_values))
        self.candidate_counts = rules.candidate_counts(sum(table.num_values))
        self.frequency = self.weighted(rows)
        self.terms = terms(sum(self.frequency.values()))

    def tree(self, key: int) -> tuple[Any, ...]:
        """The arrays of one tree, its depth, and its gains by input."""
        nodes: list[tuple[list[Row], int, int, Listing | None]] = [(self.rows, key, 0, None)]
        input, left, first, size, held = [], [], [], [], []
        values: list[int] = []
        gain = [0.0] * len(self.table.num_values)
        depth = 0
        for rows, key, depth, listing in nodes:  # grows while it is walked: breadth first
            split, listing = self.best_split(rows, key, depth, listing)
            held.append(sum(row.times for row in rows))
            first.append(len(values))
            if split is None:
                counts = sorted(self.weighted(rows).items())
                input.append(LEAF)
                left.append(self.winner(rows))
                size.append(len(counts) if len(counts) > 1 else 0)
                values += [number for pair in counts for number in pair] if len(counts) > 1 else []
                continue
            input.append(split.input)
            left.append(len(nodes))
            gain[split.input] += (self.cost([rows]) - split.cost) / 2**TERM_BITS
            if self.table.ordered[split.input]:
                first[-1] = max(split.codes)
                size.append(-1)
            else:
                values += sorted(split.codes)
                size.append(len(split.codes))
            sides = self.sides(rows, split.input, split.codes)
            nodes.append((sides[0], chained(key, LEFT), depth + 1, listing))
            nodes.append((sides[1], chained(key, RIGHT), depth + 1, listing))
        return input, left, first, size, held, values, depth, gain

    def best_split(
        self, rows: list[Row], key: int, depth: int, listing: Listing | None
    ) -> tuple[Split | None, Listing | None]:
        """The best split (None makes a leaf), and the listing that its children have from it."""
        rules, held = self.rules, sum(row.times for row in rows)
        pure = len({row.label for row in rows}) == 1
        if pure or depth >= rules.max_depth or held < rules.min_samples_split:
            return None, listing
        if rules.splits != "composed":
            return self.best_of(rows, self.ordered(rows, key)), None
        stands = listing is not None and held >= rules.recount_below and 2 * held > listing.rows
        if listing is not None and stands and rules.relevant == "lazy":
            best = self.best_of(rows, self.composed(key, listing.values))
            if best is not None:
                return best, listing
        counted = [present(rows, i) for i in range(len(self.table.num_values))]
        return self.best_of(rows, self.composed(key, counted)), Listing(held, counted)

    def best_of(self, rows: list[Row], candidates: list[tuple[int, list[int]]]) -> Split | None:
        """The candidate of least cost, ties to the first."""
        rules = self.rules
        best: Split | None = None
        for input, codes in candidates:
            sides = self.sides(rows, input, codes)
            if all(sum(row.times for row in side) >= rules.min_samples_leaf for side in sides):
                cost = self.cost(sides)
                best = Split(input, codes, cost) if best is None or cost < best.cost else best
        if best is not None and rules.splits == "sorted" and not self.table.ordered[best.input]:
            here, there = self.sides(rows, best.input, best.codes)
            if sum(row.times for row in here) > sum(row.times for row in there):
                best.codes = present(there, best.input)
        return best

    def composed(self, key: int, values: list[list[int]]) -> list[tuple[int, list[int]]]:
        """The F composed features of a node: input with probability f_i / f, then C of its V relevant values."""
        sizes = [int(self.subset_sizes[len(v)]) for v in values]
        offered = [len(v) // c if c else 0 for v, c in zip(values, sizes, strict=True)]
        if not sum(offered):
            return []
        candidates = []
        for j in range(int(self.candidate_counts[sum(offered)])):
            draw = chained(key, DRAWS + j)
            at = below(chained(draw, 0), sum(offered))
            i = next(i for i in range(len(values)) if at < sum(offered[: i + 1]))
            if self.table.ordered[i]:
                codes = values[i][: 1 + below(chained(draw, 1), len(values[i]) - 1)]
            else:
                codes = [values[i][rank] for rank in floyd(draw, 1, sizes[i], len(values[i]))]
            candidates.append((i, codes))
        return candidates

    def ordered(self, rows: list[Row], key: int) -> list[tuple[int, list[int]]]:
        """The prefixes (or single values) of max_features inputs that vary at the node."""
        rules = self.rules
        varying = [i for i in range(len(self.table.num_values)) if len(present(rows, i)) >= 2]
        draw = chained(key, DRAWS)
        chosen = sorted(floyd(draw, 0, min(rules.max_features, len(varying)), len(varying)))
        candidates = []
        for i in [varying[rank] for rank in chosen]:
            draw, values = chained(key, DRAWS + 1 + i), present(rows, i)
            if rules.splits == "binary" and not self.table.ordered[i]:
                cuts = [[value] for value in values]
            else:
                most = len(values) - 1
                if not self.table.ordered[i]:
                    values = self.by_score(rows, i, values, draw)
                    most = min(most, len(values), rules.max_prefix)
                cuts = [values[:length] for length in range(1, most + 1)]
            if rules.extra_trees and cuts:
                cuts = [cuts[below(chained(draw, 1), len(cuts))]]
            candidates += [(i, cut) for cut in cuts]
        return candidates

    def by_score(self, rows: list[Row], i: int, values: list[int], draw: int) -> list[int]:
        """The values with rows enough, highest class score first, ties by value."""
        counts, target = self.counts(rows), 0
        share = 0.0
        if self.rules.order == "one_vs_rest":
            at = below(chained(draw, 0), sum(counts.values()))
            for target in sorted(counts):
                at -= counts[target]
                if at < 0:
                    break
            share = self.rules.smoothing * (counts[target] / sum(counts.values()))
        scores = {}
        for value in values:
            inside = self.counts([row for row in rows if row.codes[i] == value])
            held = sum(inside.values())
            if held < self.rules.min_category_rows:
                continue
            if self.rules.order == "projection":
                mass = sum(n * (chained(draw, label) >> 48) for label, n in inside.items())
                scores[value] = mass / held
            else:
                scores[value] = (inside[target] + share) / (held + self.rules.smoothing)
        return sorted(scores, key=lambda value: (-scores[value], value))

    def sides(self, rows: list[Row], i: int, codes: list[int]) -> tuple[list[Row], list[Row]]:
        chosen = set(codes)
        return [row for row in rows if row.codes[i] in chosen], [row for row in rows if row.codes[i] not in chosen]

    def counts(self, rows: list[Row]) -> Counter[int]:
        """Rows by class."""
        found: Counter[int] = Counter()
        for row in rows:
            found[row.label] += row.times
        return found

    def weighted(self, rows: list[Row]) -> Counter[int]:
        return Counter({label: self.class_weight[label] * n for label, n in self.counts(rows).items()})

    def cost(self, sides: Any) -> int:
        """Entropy: Σ over sides of n log2 n - Σ_k n_k log2 n_k. Gini: -Σ over sides of Σ_k n_k² / n."""
        counts = [self.weighted(side) for side in sides]
        if self.rules.criterion == "gini":
            mass = 0.0
            for inside in counts:
                mass += sum(n * n for n in inside.values()) / sum(inside.values())
            return -int(mass * 2**TERM_BITS)
        return sum(int(self.terms[sum(c.values())]) - sum(int(self.terms[n]) for n in c.values()) for c in counts)

    def winner(self, rows: list[Row]) -> int:
        counts = self.weighted(rows)
        return max(sorted(counts), key=lambda label: (counts[label], self.frequency[label]))


def present(rows: list[Row], i: int) -> list[int]:
    """The codes of input i that occur, rising."""
    return sorted({row.codes[i] for row in rows})


def floyd(draw: int, first: int, size: int, among: int) -> list[int]:
    """`size` of `among` ranks without replacement (Bentley & Floyd 1987); draws are numbered from `first`."""
    chosen: list[int] = []
    for step in range(size):
        last = among - size + step
        rank = below(chained(draw, first + step), last + 1)
        chosen.append(last if rank in chosen else rank)
    return chosen


def chained(state: int, key: int) -> int:
    """hash64(…, key) where hash64(…) is `state`: hash64 of one key begins from state 0."""
    return int(hash64_numpy(_wrapped(state + key)))


def below(hashed: int, limit: int) -> int:
    """A whole number in [0, limit) from the upper half of a hash."""
    return (((hashed >> 32) & (2**32 - 1)) * limit) >> 32


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
