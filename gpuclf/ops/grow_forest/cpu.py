"""Growth on the CPU: every tree by itself, trees spread over threads. Here: composed splits, breadth first."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.grow_forest.bench import Columns, new_bench
from gpuclf.ops.grow_forest.cpu_ordered import grow_ordered
from gpuclf.ops.grow_forest.cpu_relevant import keep_list, stands, take_list
from gpuclf.ops.grow_forest.cpu_splits import SCALE, best_composed, term
from gpuclf.ops.grow_forest.desk import Law, Sample, clear_values, leave_rows, new_desk, sort_values, take_rows
from gpuclf.ops.grow_forest.draws import chained
from gpuclf.ops.grow_forest.records import (
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
from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_INPUTS_TO_MERGE = 256


def grow_forest(
    table: Table, labels: Tensor, weight: Tensor, sample: Tensor, class_weight: Tensor, keys: Tensor, rules: GrowthRules
) -> Trees:
    """See gpuclf.ops.grow_forest.grow_forest."""
    codes, kinds = table.codes.numpy(), labels.numpy().astype(np.int32)
    copies = weight.numpy()
    most = max(int((times[labels] * held).sum()) for times, held in zip(class_weight, weight, strict=True))
    base = np.concatenate([[0], np.cumsum(table.num_values)]).astype(np.int64)
    law, ordered, widest = law_of(rules, base, most), np.array(table.ordered, np.bool_), max(table.num_values)
    if codes.shape[1] <= _INPUTS_TO_MERGE:
        codes, kinds, copies = merged(codes, kinds, copies)
    columns = np.ascontiguousarray(codes.T)
    codes = np.ascontiguousarray(codes)
    grown: list[Any] = [None] * keys.numel()

    def grow(tree: int) -> None:
        times, own = class_weight[int(sample[tree])].numpy(), np.ascontiguousarray(copies[int(sample[tree])])
        rows = np.flatnonzero(own).astype(np.int32)
        if rules.splits == "composed":
            given = Sample(codes, base, ordered, kinds, own, times)
            desk = new_desk(rows.size, codes.shape[1], int(base[-1]), widest, times.size)
            grown[tree] = grow_tree(given, law, rows, int(keys[tree]), desk)
        else:
            bench = new_bench(rows.size, codes.shape[1], widest, times.size)
            stock = Columns(columns, ordered, kinds, own, times)
            grown[tree] = grow_ordered(stock, law, rules.splits == "binary", rows, int(keys[tree]), bench)

    run_on_threads([partial(grow, tree) for tree in range(keys.numel())])
    return joined(grown)


def merged(codes: Any, labels: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Codes (n, M), labels (n,) and weight (W, n) with rows alike made one, where that spares a tenth of them at least.

    Rows are sorted by a hash; those alike that another one with the same hash keeps apart stay apart, which only costs
    time.
    """
    mixed = labels.astype(np.uint64)
    for column in codes.T:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed)
    tidy, kinds = codes[order], labels[order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (kinds[1:] != kinds[:-1]) | (tidy[1:] != tidy[:-1]).any(1)
    starts = np.flatnonzero(first)
    if len(starts) > 0.9 * len(order):
        return codes, labels, weight
    back = np.argsort(order[starts])  # in the order of the table again: a node's rows are then read nearly in order
    total = np.add.reduceat(weight[:, order], starts, axis=1, dtype=np.int32)
    return tidy[starts][back], kinds[starts][back], total[:, back]


def law_of(rules: GrowthRules, base: Any, most: int) -> Law:
    """The rules as the kernels take them; `most` weighted rows are in a tree."""
    gini = rules.criterion == "gini"
    subset, candidates = composed_tables(rules, int(np.diff(base).max()), int(base[-1]))
    return Law(
        gini=gini,
        projection=rules.order == "projection",
        extra=rules.extra_trees,
        max_depth=np.int64(rules.max_depth),
        min_leaf=np.int64(rules.min_samples_leaf),
        min_split=np.int64(rules.min_samples_split),
        max_features=np.int64(rules.max_features),
        smoothing=np.float64(rules.smoothing),
        min_rows=np.int64(rules.min_category_rows),
        max_prefix=np.int64(rules.max_prefix),
        lazy=rules.relevant == "lazy" and rules.splits == "composed",
        recount_below=np.int64(rules.recount_below),
        subset=subset,
        candidates=candidates,
        terms=terms(0 if gini else most),
    )


@lru_cache(maxsize=8)
def composed_tables(rules: GrowthRules, widest: int, total: int) -> tuple[Any, Any]:
    """Subset sizes and counts of candidates, which only composed splits read."""
    if rules.splits != "composed":
        return np.zeros(1, np.int64), np.zeros(1, np.int64)
    return rules.subset_sizes(widest), rules.candidate_counts(total)


def joined(grown: list[Any]) -> Trees:
    """Trees of different lengths as one record."""
    input, left, first, size, rows, values, depth, gain = zip(*grown, strict=True)
    return Trees(
        nodes=torch.tensor([part.size for part in input], dtype=torch.int32),
        input=padded(list(input), PADDING),
        left=padded(list(left), 0),
        first=padded(list(first), 0),
        size=padded(list(size), 0),
        rows=padded(list(rows), 0),
        values=padded(list(values), 0),
        depth=torch.tensor(depth, dtype=torch.int32),
        gain=torch.from_numpy(np.stack(gain)).to(torch.float64) / float(1 << TERM_BITS),
    )


@kernel
def grow_tree(sample: Any, law: Any, rows: Any, key: Any, desk: Any) -> Any:
    """One tree over `rows` (int32, reordered in place). Returns the arrays of Trees, its depth and its gains."""
    most = 2 * rows.size + 1
    draft = np.zeros((8, most), np.int32)
    input, left, first, size, held, begin, end, level = draft
    keys, lists = np.zeros(most, np.int64), np.zeros(most, np.int64)
    values, filled = np.zeros(4 * rows.size + 16, np.int32), 0
    pool, pooled = np.zeros(16, np.int32), 1
    gain = np.zeros(sample.base.size - 1, np.int64)
    end[0], keys[0] = rows.size, key
    frequent = class_frequency(sample, rows)
    nodes, node = 1, 0
    while node < nodes:
        here = rows[begin[node] : end[node]]
        kinds, held[node] = take_rows(sample, here, desk)
        may_split = kinds > 1 and held[node] >= law.min_split and level[node] < law.max_depth
        standing = may_split and stands(law, held[node], lists[node], pool)
        if standing:
            take_list(sample, pool, lists[node], desk)
        about = (here.size, held[node], keys[node], kinds)
        found, length, gained, standing = best_split(sample, law, about, may_split, standing, desk)
        if law.lazy and found >= 0 and not standing and held[node] >= law.recount_below:
            lists[node] = pooled
            pool, pooled = keep_list(sample, here.size, held[node], pool, pooled, desk)
        if filled + max(length, 2 * kinds) > values.size:
            values = longer(values, 2 * (filled + max(length, 2 * kinds)))
        first[node] = filled
        if found < 0:
            input[node], left[node] = LEAF, winner(sample, desk, kinds, frequent)
            size[node] = kinds if kinds > 1 else 0
            filled += write_pairs(sample, desk, kinds, values[filled:])
        else:
            gain[found] += gained
            input[node], left[node] = found, nodes
            middle = begin[node] + split_rows(here, found, length, desk)
            if sample.ordered[found]:
                first[node], size[node] = desk.best[length - 1] - sample.base[found], -1
            else:
                size[node] = length
                write_codes(sample, desk, found, values[filled : filled + length])
                filled += length
            begin[nodes], end[nodes], begin[nodes + 1], end[nodes + 1] = begin[node], middle, middle, end[node]
            level[nodes : nodes + 2], lists[nodes : nodes + 2] = level[node] + 1, lists[node]
            keys[nodes], keys[nodes + 1] = chained(keys[node], LEFT), chained(keys[node], RIGHT)
            nodes += 2
        if may_split:
            clear_values(sample, desk)
        leave_rows(kinds, desk)
        node += 1
    return (
        input[:nodes].copy(),
        left[:nodes].copy(),
        first[:nodes].copy(),
        size[:nodes].copy(),
        held[:nodes].copy(),
        values[:filled].copy(),
        level[nodes - 1],
        gain,
    )


@kernel
def best_split(sample: Any, law: Any, here: Any, may_split: Any, standing: Any, desk: Any) -> Any:
    """The best split of the node on the desk: its input (-1: none), the length of desk.best, its gain, and whether it
    is one of the values of the list on the desk (`standing` asks for that; then the list must have one).

    here: places, rows, key and classes of the node.
    """
    n, total, key, kinds = here
    if not may_split:
        return -1, 0, np.int64(0), False
    in_all, weighted = np.int64(0), np.int64(0)
    for place in range(kinds):
        label = desk.classes[place]
        x = sample.class_weight[label] * desk.in_node[label]
        weighted += x
        in_all += term(law, x)
    about = (np.int64(total), weighted, in_all)
    found, cost, length = best_composed(sample, law, n, key, about, standing, desk)
    if found < 0 and standing:
        clear_values(sample, desk)
        standing = False
        found, cost, length = best_composed(sample, law, n, key, about, standing, desk)
    whole = -np.int64(in_all / weighted * SCALE) if law.gini else law.terms[weighted] - in_all
    return found, length, whole - cost, standing


@kernel
def write_pairs(sample: Any, desk: Any, kinds: Any, values: Any) -> Any:
    """Class and weighted rows of a leaf with several classes into values; returns how many numbers."""
    if kinds < 2:
        return 0
    for place in range(kinds):
        label = desk.classes[place]
        values[2 * place] = label
        values[2 * place + 1] = sample.class_weight[label] * desk.in_node[label]
    return 2 * kinds


@kernel
def write_codes(sample: Any, desk: Any, i: Any, values: Any) -> None:
    """The codes of the best split of input i into values, rising."""
    for place in range(values.size):
        values[place] = desk.best[place] - sample.base[i]
    sort_values(values)


@kernel
def class_frequency(sample: Any, rows: Any) -> Any:
    """(K,) int64: weighted rows of the tree by class, which break ties of votes."""
    counts = np.zeros(sample.class_weight.size, np.int64)
    for row in rows:
        counts[sample.labels[row]] += sample.weight[row]
    return counts * sample.class_weight


@kernel
def winner(sample: Any, desk: Any, kinds: Any, frequent: Any) -> Any:
    """The class of most weighted rows; ties to the one most frequent in the tree's sample, then to the first."""
    best, most = -1, np.int64(-1)
    for place in range(kinds):
        label = desk.classes[place]
        x = sample.class_weight[label] * desk.in_node[label]
        if x > most or (x == most and frequent[label] > frequent[best]):
            best, most = label, x
    return best


@kernel
def split_rows(here: Any, i: Any, length: Any, desk: Any) -> Any:
    """Moves the rows with the values desk.best[:length] of input i to the front; returns how many."""
    for place in range(length):
        g = desk.best[place]
        for position in range(desk.end[g] - desk.count[g], desk.end[g]):
            desk.side[desk.group[i, position]] = True
    lefts, rights = 0, 0
    for place in range(here.size):
        if desk.side[place]:
            desk.side[place] = False
            here[lefts] = desk.row[place]
            lefts += 1
        else:
            desk.spare[rights] = desk.row[place]
            rights += 1
    here[lefts:] = desk.spare[:rights]
    return lefts


@kernel
def longer(values: Any, length: Any) -> Any:
    """A longer copy."""
    more = np.zeros(length, np.int32)
    more[: values.size] = values
    return more
