"""Trees of sorted and binary splits on the CPU: one tree a call, depth first, its rows moved together with their class.

A node's rows lie side by side. An input's values are counted in one reading, put in order, and the rows' classes are
dealt out to their value's place; the scan over the cuts then reads memory in order. Nodes get the numbers that
breadth-first growth gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuclf.ops.grow_forest.cpu_cuts import (
    SCALE,
    WORST,
    best_cut,
    count_values,
    deal_rows,
    order_values,
    sort_codes,
    term,
    weigh_classes,
)
from gpuclf.ops.grow_forest.desk import sort_values
from gpuclf.ops.grow_forest.draws import below, chained
from gpuclf.ops.grow_forest.records import DRAWS, LEAF, LEFT, RIGHT
from gpuclf.ops.kernel import inner_kernel, kernel


class Draft(NamedTuple):
    """Nodes as they are made, in any order: the fields of Trees, and begin, end, level, key, constant by node (how many
    inputs are known not to vary there); waiting: nodes still to be split, the last first."""

    input: Any
    left: Any
    first: Any
    size: Any
    rows: Any
    begin: Any
    end: Any
    level: Any
    key: Any
    constant: Any
    waiting: Any


@kernel
def grow_ordered(sample: Any, law: Any, binary: Any, rows: Any, key: Any, bench: Any) -> Any:
    """One tree over `rows` (int32). Returns the arrays of Trees, its depth and its gains."""
    frequent = put_rows(sample, rows, bench)
    draft = new_draft(rows.size, key)
    values, filled = np.empty(rows.size + 16, np.int32), 0
    gain = np.zeros(sample.ordered.size, np.int64)
    nodes, pending, deepest = 1, 1, 0
    while pending:
        pending -= 1
        node = draft.waiting[pending]
        begin, end, level = draft.begin[node], draft.end[node], draft.level[node]
        deepest = max(deepest, level)
        kinds, total = count_classes(begin, end, bench)
        found, length, gained, constant = -1, 0, np.int64(0), np.int64(draft.constant[node])
        if kinds > 1 and total >= law.min_split and level < law.max_depth:
            about = (begin, end, total, draft.key[node], kinds)
            found, length, gained, constant = best_split(sample, law, binary, about, constant, bench)
        if filled + max(length, 2 * kinds) > values.size:
            values = longer(values, 2 * (filled + max(length, 2 * kinds)))
        draft.first[node], draft.rows[node] = filled, total
        if found < 0:
            draft.input[node], draft.left[node] = LEAF, winner(sample, kinds, frequent, bench)
            draft.size[node] = kinds if kinds > 1 else 0
            filled += write_pairs(sample, kinds, values, filled, bench)
        else:
            gain[found] += gained
            draft.input[node], draft.left[node] = found, nodes
            if sample.ordered[found]:
                draft.first[node], draft.size[node] = bench.best[length - 1], -1
            else:
                draft.size[node] = length
                write_codes(length, values, filled, bench)
                filled += length
            middle = split_rows(sample.columns[found], begin, end, length, bench)
            add_children(draft, node, nodes, middle, constant)
            draft.waiting[pending], draft.waiting[pending + 1] = nodes, nodes + 1
            nodes, pending = nodes + 2, pending + 2
        for place in range(kinds):
            bench.in_node[bench.classes[place]] = 0
    return in_breadth(draft, nodes, values, filled, deepest, gain)


@kernel
def put_rows(sample: Any, rows: Any, bench: Any) -> Any:
    """The rows onto the bench. Returns (K,) int64: weighted rows of the tree by class, which break ties of votes."""
    counts = np.zeros(sample.class_weight.size, np.int64)
    labels, weights, row, label, weight = sample.labels, sample.weight, bench.row, bench.label, bench.weight
    for place in range(rows.size):
        row[place] = rows[place]
        label[place], weight[place] = labels[row[place]], weights[row[place]]
        counts[label[place]] += weight[place]
    return counts * sample.class_weight


@inner_kernel
def count_classes(begin: Any, end: Any, bench: Any) -> Any:
    """The rows of every class into bench.in_node; returns the number of classes (rising in bench.classes) and rows."""
    kinds, total = 0, np.int64(0)
    label, weight, classes, in_node = bench.label, bench.weight, bench.classes, bench.in_node
    for place in range(begin, end):
        k = label[place]
        if in_node[k] == 0:
            classes[kinds] = k
            kinds += 1
        in_node[k] += weight[place]
        total += weight[place]
    sort_values(classes[:kinds])
    return kinds, total


@inner_kernel
def best_split(sample: Any, law: Any, binary: Any, about: Any, constant: Any, bench: Any) -> Any:
    """The best split of a node: its input (-1: none), the length of bench.best, its gain; and how many inputs do not
    vary there (they stand first in bench.inputs), of which `constant` are known."""
    begin, end, total, key, kinds = about
    constant = choose_inputs(sample, law, begin, end, key, constant, bench)
    in_all, weighted = np.int64(0), np.int64(0)
    for place in range(kinds):
        x = sample.class_weight[bench.classes[place]] * bench.in_node[bench.classes[place]]
        weighted += x
        in_all += term(law, x)
    best_input, best_cost, best_length = -1, WORST, 0
    for i in range(sample.ordered.size):
        if not bench.chosen[i]:
            continue
        bench.chosen[i] = False
        by_code, draw = sample.ordered[i], chained(key, DRAWS + 1 + i)
        single = binary and not by_code
        smooth = weigh_classes(law, draw, total, kinds, bench)
        distinct = count_values(sample.columns[i], begin, end, bench)
        count = order_values(law, single or by_code, distinct, smooth, bench)
        tried = count if single else min(count, distinct - 1)
        if not single and not by_code:
            tried = min(tried, law.max_prefix)
        only = 0
        if law.extra and tried > 0:
            tried = only = 1 + below(chained(draw, 1), tried)
        deal_rows(sample.columns[i], begin, end, distinct, tried, bench)
        length, cost = best_cut(law, sample.class_weight, single, tried, only, (total, weighted, in_all), kinds, bench)
        if cost < best_cost:
            best_input, best_cost = i, cost
            best_length = keep_codes(single, by_code, distinct, length, total, bench)
        for place in range(distinct):
            bench.slot[bench.code[place]] = -1
    whole = -np.int64(in_all / weighted * SCALE) if law.gini else law.terms[weighted] - in_all
    return best_input, best_length, whole - best_cost, constant


@inner_kernel
def choose_inputs(sample: Any, law: Any, begin: Any, end: Any, key: Any, constant: Any, bench: Any) -> Any:
    """Sets bench.chosen: max_features of the inputs that vary (Floyd 1987). Returns how many do not."""
    inputs, varying, picked = bench.inputs, bench.varying, bench.picked
    for place in range(constant):
        varying[inputs[place]] = False
    for place in range(constant, inputs.size):
        i = inputs[place]
        varying[i] = varies(sample.columns[i], begin, end, bench)
        if not varying[i]:
            inputs[place], inputs[constant] = inputs[constant], i
            constant += 1
    eligible = inputs.size - constant
    wanted = min(law.max_features, eligible)
    if wanted == eligible:
        for i in range(inputs.size):
            bench.chosen[i] = varying[i]
        return constant
    for rank in range(eligible):
        picked[rank] = False
    draw = chained(key, DRAWS)
    for step in range(wanted):
        last = eligible - wanted + step
        rank = below(chained(draw, step), last + 1)
        picked[last if picked[rank] else rank] = True
    rank = 0
    for i in range(inputs.size):
        if varying[i]:
            bench.chosen[i] = picked[rank]
            rank += 1
    return constant


@inner_kernel
def varies(column: Any, begin: Any, end: Any, bench: Any) -> Any:
    """Whether the rows differ in an input."""
    row = bench.row
    first = column[row[begin]]
    place = begin + 1
    while place < end and column[row[place]] == first:
        place += 1
    return place < end


@inner_kernel
def keep_codes(single: Any, by_code: Any, distinct: Any, length: Any, rows: Any, bench: Any) -> Any:
    """Copies the codes of a cut that ends at `length` to bench.best; returns how many.

    Of a prefix by score the side with fewer rows is kept: what is not listed goes with the rest, so a value that the
    node has not seen goes where most rows go.
    """
    if single:
        bench.best[0] = bench.order[length - 1]
        return 1
    taken = np.int64(0)
    if not by_code:
        for place in range(length):
            taken += bench.held[bench.slot[bench.order[place]]]
    begin, end = (length, distinct) if 2 * taken > rows else (0, length)
    for place in range(begin, end):
        bench.best[place - begin] = bench.order[place]
    return end - begin


@inner_kernel
def write_codes(length: Any, values: Any, filled: Any, bench: Any) -> None:
    """bench.best[:length] into values, rising."""
    best = bench.best
    sort_codes(best, length, bench.words)
    for place in range(length):
        values[filled + place] = best[place]


@inner_kernel
def split_rows(column: Any, begin: Any, end: Any, length: Any, bench: Any) -> Any:
    """Moves the rows with a code of bench.best[:length] to the front; returns where the others begin."""
    best, slot, row, label, weight, spare = (
        bench.best, bench.slot, bench.row, bench.label, bench.weight, bench.spare,
    )  # fmt: skip
    for place in range(length):
        slot[best[place]] = 0
    to, aside = begin, 0
    for place in range(begin, end):
        r, k, w = row[place], label[place], weight[place]
        goes = slot[column[r]] + 1
        row[to], label[to], weight[to] = r, k, w
        spare[0, aside], spare[1, aside], spare[2, aside] = r, k, w
        to += goes
        aside += 1 - goes
    for place in range(aside):
        row[to + place], label[to + place], weight[to + place] = spare[0, place], spare[1, place], spare[2, place]
    for place in range(length):
        slot[best[place]] = -1
    return to


@inner_kernel
def write_pairs(sample: Any, kinds: Any, values: Any, filled: Any, bench: Any) -> Any:
    """Class and weighted rows of a leaf with several classes into values; returns how many numbers."""
    if kinds < 2:
        return 0
    for place in range(kinds):
        label = bench.classes[place]
        values[filled + 2 * place] = label
        values[filled + 2 * place + 1] = sample.class_weight[label] * bench.in_node[label]
    return 2 * kinds


@inner_kernel
def winner(sample: Any, kinds: Any, frequent: Any, bench: Any) -> Any:
    """The class of most weighted rows; ties to the one most frequent in the tree's sample, then to the first."""
    best, most = -1, np.int64(-1)
    for place in range(kinds):
        label = bench.classes[place]
        x = sample.class_weight[label] * bench.in_node[label]
        if x > most or (x == most and frequent[label] > frequent[best]):
            best, most = label, x
    return best


@kernel
def new_draft(rows: Any, key: Any) -> Draft:
    """A draft that holds the root."""
    most = 2 * rows + 1
    draft = Draft(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int64),
        np.empty(most, np.int32),
        np.empty(rows + 1, np.int32),
    )
    draft.begin[0], draft.end[0], draft.level[0], draft.constant[0], draft.waiting[0] = 0, rows, 0, 0, 0
    draft.key[0] = key
    return draft


@inner_kernel
def add_children(draft: Any, node: Any, nodes: Any, middle: Any, constant: Any) -> None:
    """Two nodes that share the rows of `node`, from `middle` on the right one's."""
    for child in range(nodes, nodes + 2):
        draft.level[child], draft.constant[child] = draft.level[node] + 1, constant
    draft.begin[nodes], draft.end[nodes] = draft.begin[node], middle
    draft.begin[nodes + 1], draft.end[nodes + 1] = middle, draft.end[node]
    draft.key[nodes], draft.key[nodes + 1] = chained(draft.key[node], LEFT), chained(draft.key[node], RIGHT)


@kernel
def in_breadth(draft: Any, nodes: Any, values: Any, filled: Any, deepest: Any, gain: Any) -> Any:
    """input, left, first, size, rows and values with the nodes numbered breadth first; depth and gains as they are."""
    input, left, first, size, rows = (
        np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
    )  # fmt: skip
    made, listed = np.empty(nodes, np.int32), np.empty(filled, np.int32)
    made[0] = 0
    count, filled = 1, 0
    for new in range(nodes):
        node = made[new]
        input[new], left[new], size[new], rows[new] = (
            draft.input[node], draft.left[node], draft.size[node], draft.rows[node],
        )  # fmt: skip
        begin = draft.first[node]
        first[new] = begin if size[new] < 0 else filled
        if input[new] == LEAF:
            length = 2 * size[new]
        else:
            length = max(size[new], 0)
            made[count], made[count + 1], left[new] = left[new], left[new] + 1, count
            count += 2
        for place in range(length):
            listed[filled + place] = values[begin + place]
        filled += length
    return input, left, first, size, rows, listed, deepest, gain


@kernel
def longer(values: Any, length: Any) -> Any:
    """A longer copy."""
    more = np.empty(length, np.int32)
    more[: values.size] = values
    return more
