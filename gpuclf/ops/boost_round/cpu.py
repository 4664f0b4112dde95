"""Trees of gradients on the CPU: each class's tree by itself, breadth first, classes spread over threads."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.boost_round.records import SCALE_BITS, BoostRules, BoostTrees
from gpuclf.ops.class_slopes import ClassSlopes
from gpuclf.ops.kernel import inner_kernel, kernel
from gpuclf.ops.threads import run_on_threads

_GAPS = (411529, 143243, 49859, 17354, 6041, 2103, 701, 301, 132, 57, 23, 10, 4, 1)  # Ciura 2001
_UNIT = float(1 << SCALE_BITS)


class Law(NamedTuple):
    """BoostRules as numbers."""

    max_depth: Any
    l2: Any
    smoothing: Any
    max_prefix: Any
    min_rows: Any
    min_leaf: Any
    min_curvature: Any
    min_gain: Any


class Desk(NamedTuple):
    """Scratch: per value of all inputs count, gradient and curvature; present: values met, by input; score and order of
    the values of one input; best: the values of the best split; spare: rows."""

    count: Any
    gradient: Any
    curvature: Any
    present: Any
    distinct: Any
    order: Any
    score: Any
    best: Any
    spare: Any


def boost_round(
    codes: Tensor,
    num_values: tuple[int, ...],
    ordered: tuple[bool, ...],
    slopes: ClassSlopes,
    rules: BoostRules,
) -> BoostTrees:
    """See gpuclf.ops.boost_round.boost_round."""
    table, base = np.ascontiguousarray(codes.numpy()), np.concatenate([[0], np.cumsum(num_values)]).astype(np.int64)
    law = Law(
        np.int64(rules.max_depth), float(rules.l2), float(rules.smoothing), np.int64(rules.max_prefix),
        np.int64(rules.min_category_rows), np.int64(rules.min_samples_leaf), float(rules.min_curvature),
        float(rules.min_gain),
    )  # fmt: skip
    cut, width, begin = np.array(ordered, np.bool_), np.array(num_values, np.int64), slopes.begin.tolist()
    parts = [part.numpy() for part in (slopes.group, slopes.held, slopes.gradient, slopes.curvature)]
    classes = len(begin) - 1
    change = np.empty((len(table), classes), np.float32)
    grown: list[Any] = [None] * classes

    def grow(k: int) -> None:
        group, held, gradient, curvature = (part[begin[k] : begin[k + 1]] for part in parts)
        desk = new_desk(group.size, len(num_values), int(base[-1]), max(num_values))
        grown[k] = grow_tree(table[group], base, cut, held, gradient, curvature, law, desk)
        follow(table, width, *grown[k][:6], change[:, k])

    run_on_threads([partial(grow, k) for k in range(classes)])
    input, left, first, size, values, leaf, gain = zip(*grown, strict=True)
    return BoostTrees(
        nodes=torch.tensor([part.size for part in input], dtype=torch.int32),
        input=stacked(input, -2),
        left=stacked(left, 0),
        first=stacked(first, 0),
        size=stacked(size, 0),
        values=stacked(values, 0),
        leaf=stacked(leaf, 0),
        change=torch.from_numpy(change),
        gain=torch.from_numpy(np.sum(gain, axis=0)),
    )


def stacked(parts: Any, fill: int) -> Tensor:
    """(K, longest) of arrays of different lengths."""
    longest = max(1, max(part.size for part in parts))
    out = np.full((len(parts), longest), fill, dtype=parts[0].dtype)
    for row, part in zip(out, parts, strict=True):
        row[: part.size] = part
    return torch.from_numpy(out)


def new_desk(rows: int, inputs: int, values: int, widest: int) -> Desk:
    """Scratch for a tree of so many rows."""
    return Desk(
        count=np.zeros(values, np.int32),
        gradient=np.zeros(values, np.int64),
        curvature=np.zeros(values, np.int64),
        present=np.zeros(values, np.int32),
        distinct=np.zeros(inputs, np.int64),
        order=np.zeros(widest, np.int32),
        score=np.zeros(widest, np.float64),
        best=np.zeros(widest, np.int32),
        spare=np.zeros(rows, np.int32),
    )


@kernel
def grow_tree(
    codes: Any, base: Any, ordered: Any, held: Any, gradient: Any, curvature: Any, law: Any, desk: Any
) -> Any:
    """One tree over groups of `held` rows each, codes (m, M). Returns its arrays and gains by input."""
    rows = np.arange(held.size).astype(np.int32)
    depth = min(law.max_depth, 30)
    most = min(2 * rows.size, 2 ** (depth + 1)) + 1
    draft = np.zeros((7, most), np.int32)
    input, left, first, size, begin, end, level = draft
    leaf = np.zeros(most, np.float32)
    values, filled = np.zeros(4096, np.int32), 0
    gains = np.zeros(base.size - 1)
    end[0] = rows.size
    nodes, node = 1, 0
    while node < nodes:
        here = rows[begin[node] : end[node]]
        inside, slope, bend = sums(here, held, gradient, curvature)
        found, length, gain = -1, 0, 0.0
        if level[node] < law.max_depth and inside >= 2 * law.min_leaf and here.size > 1:
            count_values(codes, base, here, held, gradient, curvature, desk)
            found, length, gain = best_split(base, ordered, inside, slope, bend, law, desk)
            clear_values(base, desk)
        first[node] = filled
        if found < 0:
            input[node] = -1
            leaf[node] = quotient(-slope, bend + law.l2)
        else:
            gains[found] += gain
            chosen = desk.best[:length]
            sort_values(chosen)
            input[node], left[node] = found, nodes
            if ordered[found]:
                first[node], size[node] = chosen[length - 1] - base[found], -1
            else:
                if filled + length > values.size:
                    values = longer(values, 2 * (filled + length))
                for place in range(length):
                    values[filled + place] = chosen[place] - base[found]
                size[node] = length
                filled += length
            middle = begin[node] + split_rows(codes, base, here, found, chosen, desk)
            begin[nodes], end[nodes], begin[nodes + 1], end[nodes + 1] = begin[node], middle, middle, end[node]
            level[nodes : nodes + 2] = level[node] + 1
            nodes += 2
        node += 1
    return (
        input[:nodes].copy(),
        left[:nodes].copy(),
        first[:nodes].copy(),
        size[:nodes].copy(),
        values[:filled].copy(),
        leaf[:nodes].copy(),
        gains,
    )


@inner_kernel
def sums(rows: Any, held: Any, gradient: Any, curvature: Any) -> Any:
    """Rows, G and H of some groups."""
    inside, slope, bend = np.int64(0), np.int64(0), np.int64(0)
    for row in rows:
        inside += held[row]
        slope += gradient[row]
        bend += curvature[row]
    return inside, slope / _UNIT, bend / _UNIT


@inner_kernel
def count_values(codes: Any, base: Any, rows: Any, held: Any, gradient: Any, curvature: Any, desk: Any) -> None:
    """Rows, G and H of every value that occurs."""
    inputs = base.size - 1
    for row in rows:
        inside, slope, bend = held[row], gradient[row], curvature[row]
        for i in range(inputs):
            g = base[i] + codes[row, i]
            if desk.count[g] == 0:
                desk.present[base[i] + desk.distinct[i]] = g
                desk.distinct[i] += 1
            desk.count[g] += inside
            desk.gradient[g] += slope
            desk.curvature[g] += bend


@inner_kernel
def clear_values(base: Any, desk: Any) -> None:
    """Undoes count_values."""
    for i in range(base.size - 1):
        for place in range(base[i], base[i] + desk.distinct[i]):
            g = desk.present[place]
            desk.count[g], desk.gradient[g], desk.curvature[g] = 0, 0, 0
        desk.distinct[i] = 0


@inner_kernel
def best_split(base: Any, ordered: Any, rows: Any, slope: Any, bend: Any, law: Any, desk: Any) -> Any:
    """The input of the best split (-1: none gains), the length of desk.best, its gain."""
    best_input, best_length, best_gain = -1, 0, law.min_gain
    for i in range(base.size - 1):
        if desk.distinct[i] < 2:
            continue
        count = order_values(base, i, ordered[i], law, desk)
        limit = min(count, desk.distinct[i] - 1)
        if not ordered[i]:
            limit = min(limit, law.max_prefix)
        for direction in range(1 if ordered[i] else 2):
            length, gain = best_prefix(count, limit, direction == 1, rows, slope, bend, law, desk, best_gain)
            if length > 0:
                best_input, best_length, best_gain = i, length, gain
                for place in range(length):
                    desk.best[place] = desk.order[count - 1 - place if direction == 1 else place]
    return best_input, best_length, best_gain


@inner_kernel
def order_values(base: Any, i: Any, by_code: Any, law: Any, desk: Any) -> Any:
    """The values of input i that may be split off into desk.order, by score, ties by value; or by code."""
    count = 0
    for place in range(base[i], base[i] + desk.distinct[i]):
        g = desk.present[place]
        if by_code or desk.count[g] >= law.min_rows:
            desk.order[count] = g
            if by_code:
                desk.score[count] = g
            else:
                desk.score[count] = quotient(desk.gradient[g] / _UNIT, desk.curvature[g] / _UNIT + law.smoothing)
            count += 1
    order, score = desk.order, desk.score
    for gap in _GAPS:
        for place in range(gap, count):
            value, key = order[place], score[place]
            before = place - gap
            while before >= 0 and (score[before] > key or (score[before] == key and order[before] > value)):
                order[before + gap], score[before + gap] = order[before], score[before]
                before -= gap
            order[before + gap], score[before + gap] = value, key
    return count


@inner_kernel
def best_prefix(
    count: Any, limit: Any, backwards: Any, rows: Any, slope: Any, bend: Any, law: Any, desk: Any, to_beat: Any
) -> Any:
    """The length of the best run of desk.order from either end, 0 where none gains more than to_beat; its gain."""
    best_length, best_gain = 0, to_beat
    whole = quotient(slope * slope, bend + law.l2)
    taken, in_slope, in_bend = 0, np.int64(0), np.int64(0)
    for place in range(limit):
        g = desk.order[count - 1 - place if backwards else place]
        taken += desk.count[g]
        in_slope += desk.gradient[g]
        in_bend += desk.curvature[g]
        if taken < law.min_leaf or rows - taken < law.min_leaf:
            continue
        left_slope, left_bend = in_slope / _UNIT, in_bend / _UNIT
        right_slope, right_bend = slope - left_slope, bend - left_bend
        if left_bend < law.min_curvature or right_bend < law.min_curvature:
            continue
        gain = quotient(left_slope**2, left_bend + law.l2) + quotient(right_slope**2, right_bend + law.l2) - whole
        if gain > best_gain:
            best_length, best_gain = place + 1, gain
    return best_length, best_gain


@inner_kernel
def quotient(one: Any, other: Any) -> Any:
    """Of a sum that is 0, as that of no curvature without l2: 0."""
    return one / other if other > 0.0 else 0.0


@inner_kernel
def split_rows(codes: Any, base: Any, here: Any, i: Any, chosen: Any, desk: Any) -> Any:
    """Moves the rows with the chosen values of input i to the front; returns how many."""
    for g in chosen:
        desk.count[g] = 1
    lefts, rights = 0, 0
    for place in range(here.size):
        row = here[place]
        if desk.count[base[i] + codes[row, i]]:
            here[lefts] = row
            lefts += 1
        else:
            desk.spare[rights] = row
            rights += 1
    for place in range(rights):
        here[lefts + place] = desk.spare[place]
    for g in chosen:
        desk.count[g] = 0
    return lefts


@kernel
def follow(
    codes: Any, width: Any, input: Any, left: Any, first: Any, size: Any, values: Any, leaf: Any, change: Any
) -> None:
    """Sets change (G,) to the values of the leaves that the groups end in.

    width (M,): codes an input may have; a node that lists codes gets a bit for each of them.
    """
    begin = np.zeros(input.size + 1, np.int64)  # of a node's words
    for node in range(input.size):
        listing = input[node] >= 0 and size[node] >= 0
        begin[node + 1] = begin[node] + ((width[input[node]] + 31) // 32 if listing else 0)
    words = np.zeros(begin[input.size], np.int32)
    for node in range(input.size):
        if input[node] >= 0 and size[node] >= 0:
            for place in range(first[node], first[node] + size[node]):
                words[begin[node] + (values[place] >> 5)] |= np.int32(1 << (values[place] & 31))
    for row in range(codes.shape[0]):
        node = 0
        while input[node] >= 0:
            code = codes[row, input[node]]
            if size[node] < 0:
                goes_left = code <= first[node]
            else:
                goes_left = ((words[begin[node] + (code >> 5)] >> (code & 31)) & 1) == 1
            node = left[node] if goes_left else left[node] + 1
        change[row] = leaf[node]


@inner_kernel
def sort_values(values: Any) -> None:
    """Sorts in place (Shell's sort)."""
    for gap in _GAPS:
        for place in range(gap, values.size):
            value = values[place]
            before = place - gap
            while before >= 0 and values[before] > value:
                values[before + gap] = values[before]
                before -= gap
            values[before + gap] = value


@kernel
def longer(values: Any, length: Any) -> Any:
    """A longer copy."""
    more = np.zeros(length, np.int32)
    more[: values.size] = values
    return more
