"""The best cut of one input at a node, for sorted and binary splits on the CPU. Scratch is a Bench.

A cut's cost, to be lowest, is a whole number: for entropy the bits in both sides together, from the table of
n · log2 n; for Gini minus the sum over the sides of Σ n_k² / n. Ties go to the first candidate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.grow_forest.desk import sort_values
from gpuclf.ops.grow_forest.draws import below, chained
from gpuclf.ops.grow_forest.records import TERM_BITS
from gpuclf.ops.kernel import inner_kernel

WORST = np.int64((1 << 63) - 1)
SCALE = float(1 << TERM_BITS)
HERE, DONE, WHOLE, LEFT_TERM, RIGHT_TERM = range(5)
_FEW, _FEW_SCORES = 8, 24
_GAPS = (6041, 2103, 701, 301, 132, 57, 23, 10, 4, 1)  # Ciura 2001
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, np.int32)  # the number of a bit, by the top bits of its product with _DE_BRUIJN
for _number in range(64):
    _BIT[((0x03F79D71B4CB0A89 << _number) >> 58) & 63] = _number


@inner_kernel
def term(law: Any, n: Any) -> Any:
    """What a class of n weighted rows adds to a side."""
    return n * n if law.gini else law.terms[n]


@inner_kernel
def weigh_classes(law: Any, draw: Any, rows: Any, kinds: Any, bench: Any) -> Any:
    """Sets bench.part: what a row of each class of the node adds to its value's mass. Returns the two numbers that
    smoothe a score (mass + share) / (held + smoothing)."""
    classes, in_node, part = bench.classes, bench.in_node, bench.part
    if law.projection:
        for place in range(kinds):
            label = classes[place]
            part[label] = chained(draw, label) >> 48
        return 0.0, 0.0
    at = below(chained(draw, 0), rows)
    target = np.int32(-1)
    for place in range(kinds):
        label = classes[place]
        part[label] = 0
        if target < 0:
            at -= in_node[label]
            if at < 0:
                target = label
    part[target] = 1
    return law.smoothing * (in_node[target] / rows), law.smoothing


@inner_kernel
def count_values(column: Any, begin: Any, end: Any, bench: Any) -> Any:
    """Rows and mass of every code that the rows begin … end - 1 have; returns how many codes."""
    row, label, weight, part = bench.row, bench.label, bench.weight, bench.part
    slot, codes, count, held, mass = bench.slot, bench.code, bench.count, bench.held, bench.mass
    distinct = 0
    for place in range(begin, end):
        code = column[row[place]]
        at = slot[code]
        if at < 0:
            at = distinct
            slot[code], codes[at] = at, code
            count[at], held[at], mass[at] = 0, 0, 0
            distinct += 1
        count[at] += 1
        held[at] += weight[place]
        mass[at] += weight[place] * part[label[place]]
    return distinct


@inner_kernel
def order_values(law: Any, by_code: Any, distinct: Any, smooth: Any, bench: Any) -> Any:
    """The codes that may be split off into bench.order, highest score first, ties by code (by_code: by that alone), and
    behind them the others. Returns how many may be."""
    codes, slot, held, mass, order, score = (
        bench.code, bench.slot, bench.held, bench.mass, bench.order, bench.score,
    )  # fmt: skip
    sort_codes(codes, distinct, bench.words)
    share, smoothing = smooth
    count, last = 0, distinct
    for place in range(distinct):
        code = codes[place]
        at = slot[code]
        if by_code or held[at] >= law.min_rows:
            order[count], score[count] = code, (mass[at] + share) / (held[at] + smoothing)
            count += 1
        else:
            last -= 1
            order[last] = code
    if not by_code:
        by_score(count, bench)
    return count


@inner_kernel
def sort_codes(codes: Any, count: Any, words: Any) -> None:
    """Sorts the different codes[:count]: by a bit for each, where reading all bits is not dearer than comparing."""
    if count <= _FEW or count * _FEW < words.size:
        sort_values(codes[:count])
        return
    for place in range(count):
        code = codes[place]
        words[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    found = 0
    for place in range(words.size):
        word = words[place]
        words[place] = 0
        while word:
            low = word & (~word + np.uint64(1))
            codes[found] = 64 * place + _BIT[(low * _DE_BRUIJN) >> np.uint64(58)]
            found += 1
            word ^= low


@inner_kernel
def by_score(count: Any, bench: Any) -> None:
    """Sorts bench.order[:count], rising codes, by falling score, equal ones by code.

    Many values have the same score, those with one row above all: the different scores are found by hashing and
    sorted, and the codes are counted out to their places.
    """
    order, score = bench.order, bench.score
    if count <= _FEW_SCORES:
        for place in range(1, count):
            code, own = order[place], score[place]
            before = place - 1
            while before >= 0 and score[before] < own:
                order[before + 1], score[before + 1] = order[before], score[before]
                before -= 1
            order[before + 1], score[before + 1] = code, own
        return
    bits, table, level, score_of, ends, spare = (
        bench.bits, bench.table, bench.level, bench.score_of, bench.ends, bench.ordered,
    )  # fmt: skip
    size = 2 * _FEW_SCORES
    while size < 2 * count:
        size *= 2
    for at in range(size):
        table[at] = -1
    levels = 0
    for place in range(count):
        at = ((bits[place] * _GOLDEN) >> 32) & (size - 1)
        while table[at] >= 0 and score_of[table[at]] != score[place]:
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at], score_of[levels], ends[levels] = levels, score[place], 0
            levels += 1
        level[place] = table[at]
        ends[table[at]] += 1
        spare[place] = order[place]
    sort_levels(levels, table, score_of, ends)
    for place in range(count - 1, -1, -1):
        ends[level[place]] -= 1
        order[ends[level[place]]] = spare[place]


@inner_kernel
def sort_levels(levels: Any, rank: Any, score_of: Any, ends: Any) -> None:
    """Turns the sizes of levels into where each ends, highest score first (Shell's sort of their numbers)."""
    for place in range(levels):
        rank[place] = place
    for gap in _GAPS:
        for place in range(gap, levels):
            own = rank[place]
            before = place - gap
            while before >= 0 and score_of[rank[before]] < score_of[own]:
                rank[before + gap] = rank[before]
                before -= gap
            rank[before + gap] = own
    running = 0
    for place in range(levels):
        running += ends[rank[place]]
        ends[rank[place]] = running


@inner_kernel
def deal_rows(column: Any, begin: Any, end: Any, distinct: Any, tried: Any, bench: Any) -> None:
    """Puts class and weight of the rows that have one of the first `tried` codes of bench.order into the order of
    these; the rows of code bench.order[p] end before bench.stop[p]."""
    row, label, weight, slot, order = bench.row, bench.label, bench.weight, bench.slot, bench.order
    count, start, stop, dealt_label, dealt_weight = (
        bench.count, bench.start, bench.stop, bench.dealt_label, bench.dealt_weight,
    )  # fmt: skip
    running = 0
    for place in range(tried):
        at = slot[order[place]]
        start[at] = running
        running += count[at]
        stop[place] = running
    for place in range(tried, distinct):
        start[slot[order[place]]] = -1
    for place in range(begin, end):
        at = slot[column[row[place]]]
        to = start[at]
        if to >= 0:
            start[at] = to + 1
            dealt_label[to], dealt_weight[to] = label[place], weight[place]


@inner_kernel
def best_cut(law: Any, times: Any, single: Any, tried: Any, only: Any, node: Any, kinds: Any, bench: Any) -> Any:
    """The best prefix of the first `tried` codes of bench.order, or the best of them alone (single): where it ends,
    from 1, and its cost; 0 and WORST without any.

    only: the one candidate to be judged, from 1; 0: all. node: its rows, weighted rows, and its classes' terms' sum.
    """
    rows, weighted, in_all = node
    label, weight, stop, classes, tally = bench.dealt_label, bench.dealt_weight, bench.stop, bench.classes, bench.tally
    gini, terms, least = law.gini, law.terms, law.min_leaf
    start_tally(gini, terms, times, kinds, bench)
    best, best_cost = 0, WORST
    taken, total, left, right, begin = np.int64(0), np.int64(0), np.int64(0), in_all, 0
    for place in range(tried):
        end = stop[place]
        for at in range(begin, end):
            tally[label[at], HERE] += weight[at]
            taken += weight[at]
        few = end - begin < kinds
        for at in range(end - begin if few else kinds):
            k = label[begin + at] if few else classes[at]
            here, done = tally[k, HERE], tally[k, DONE]
            if here != done:  # a class that moves: what it adds to either side changes
                x, y = times[k] * here, times[k] * (tally[k, WHOLE] - here)
                before, there = (x * x, y * y) if gini else (terms[x], terms[y])
                left += before - tally[k, LEFT_TERM]
                right += there - tally[k, RIGHT_TERM]
                tally[k, DONE], tally[k, LEFT_TERM], tally[k, RIGHT_TERM] = here, before, there
                total += times[k] * (here - done)
        if (only == 0 or only == place + 1) and taken >= least and rows - taken >= least:
            if gini:
                cost = -np.int64((left / total + right / (weighted - total)) * SCALE)
            else:
                cost = terms[total] + terms[weighted - total] - left - right
            if cost < best_cost:
                best, best_cost = place + 1, cost
        if single:
            start_tally(gini, terms, times, kinds, bench)
            taken, total, left, right = np.int64(0), np.int64(0), np.int64(0), in_all
        begin = end
    return best, best_cost


@inner_kernel
def start_tally(gini: Any, terms: Any, times: Any, kinds: Any, bench: Any) -> None:
    """Puts every class of the node on the right."""
    classes, in_node, tally = bench.classes, bench.in_node, bench.tally
    for place in range(kinds):
        k = classes[place]
        n = in_node[k]
        x = times[k] * n
        tally[k, HERE], tally[k, DONE], tally[k, WHOLE], tally[k, LEFT_TERM] = 0, 0, n, 0
        tally[k, RIGHT_TERM] = x * x if gini else terms[x]
