"""The best split of a node on the CPU: kernels over a desk with the node's rows and their counted values.

A split's cost, to be lowest, is a whole number: for entropy the bits in both sides together, from the table of
n · log2 n; for Gini minus the sum over the sides of Σ n_k² / n. Ties go to the first candidate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.grow_forest.desk import count_input, count_values, group_input, varies
from gpuclf.ops.grow_forest.draws import below, chained
from gpuclf.ops.grow_forest.records import DRAWS, TERM_BITS
from gpuclf.ops.kernel import kernel

WORST = np.int64((1 << 63) - 1)
SCALE = float(1 << TERM_BITS)
_GAPS = (1182309, 411529, 143243, 49859, 17354, 6041, 2103, 701, 301, 132, 57, 23, 10, 4, 1)


@kernel
def term(law: Any, n: Any) -> Any:
    """What a class of n weighted rows adds to a side."""
    return n * n if law.gini else law.terms[n]


@kernel
def cost_of(law: Any, total_left: Any, total_right: Any, left: Any, right: Any) -> Any:
    """The cost of two sides of so many weighted rows, whose classes' terms add up to left and right."""
    if law.gini:
        return -np.int64((left / total_left + right / total_right) * SCALE)
    return law.terms[total_left] + law.terms[total_right] - left - right


@kernel
def best_composed(sample: Any, law: Any, n: Any, key: Any, node: Any, standing: Any, desk: Any) -> Any:
    """The best of F composed features. Returns input (-1: there is none), cost, and the length of desk.best.

    standing: their values are those of the list on the desk, and only inputs that are drawn are counted.
    """
    inputs = sample.base.size - 1
    values, held = desk.relevant, desk.offers
    if not standing:
        count_values(sample, n, desk)
        values, held = desk.present, desk.distinct
    offered = 0
    for i in range(inputs):
        if held[i] >= 2:
            offered += held[i] // law.subset[held[i]]
    best_input, best_cost, best_length = -1, WORST, 0
    if offered == 0:
        return best_input, best_cost, best_length
    for j in range(law.candidates[offered]):
        draw = chained(key, DRAWS + j)
        at = below(chained(draw, 0), offered)
        i = 0
        while True:
            if held[i] >= 2:
                at -= held[i] // law.subset[held[i]]
                if at < 0:
                    break
            i += 1
        if desk.distinct[i] == 0:
            count_input(sample, i, n, desk)
        group_input(sample, i, n, desk)
        length = choose_values(sample, law, i, draw, values[sample.base[i] : sample.base[i] + held[i]], desk)
        cost = subset_cost(law, sample, i, length, node, desk)
        if cost < best_cost:
            best_input, best_cost, best_length = i, cost, length
            desk.best[:length] = desk.order[:length]
    return best_input, best_cost, best_length


@kernel
def choose_values(sample: Any, law: Any, i: Any, draw: Any, values: Any, desk: Any) -> Any:
    """C of the values of input i into desk.order (Floyd 1987); of an ordered input a prefix of them."""
    if sample.ordered[i]:
        length = 1 + below(chained(draw, 1), values.size - 1)
        desk.order[:length] = values[:length]
        return length
    size = law.subset[values.size]
    for step in range(size):
        last = values.size - size + step
        rank = below(chained(draw, 1 + step), last + 1)
        if desk.mark[rank]:
            rank = last
        desk.mark[rank] = True
        desk.order[step] = rank
    for step in range(size):
        desk.mark[desk.order[step]] = False
        desk.order[step] = values[desk.order[step]]
    return size


@kernel
def subset_cost(law: Any, sample: Any, i: Any, length: Any, node: Any, desk: Any) -> Any:
    """The cost of sending the values desk.order[:length] of input i left, WORST where a side is too small.

    node: its rows, weighted rows, and the sum of its classes' terms.
    """
    rows, weighted, in_all = node
    kinds = 0
    taken = 0
    for place in range(length):
        g = desk.order[place]
        for position in range(desk.end[g] - desk.count[g], desk.end[g]):
            at = desk.group[i, position]
            label = desk.label[at]
            if desk.in_left[label] == 0:
                desk.touched[kinds] = label
                kinds += 1
            desk.in_left[label] += desk.weight[at]
            taken += desk.weight[at]
    total, left, right = 0, 0, in_all
    for place in range(kinds):
        label = desk.touched[place]
        times, here, whole = sample.class_weight[label], desk.in_left[label], desk.in_node[label]
        total += times * here
        left += term(law, times * here)
        right += term(law, times * (whole - here)) - term(law, times * whole)
        desk.in_left[label] = 0
    if taken < law.min_leaf or rows - taken < law.min_leaf:
        return WORST
    return cost_of(law, total, weighted - total, left, right)


@kernel
def best_ordered(sample: Any, law: Any, n: Any, key: Any, node: Any, kinds: Any, binary: Any, desk: Any) -> Any:
    """The best prefix of ordered values (or single value) of max_features inputs. Returns as best_composed."""
    inputs = sample.base.size - 1
    eligible = 0
    for i in range(inputs):
        desk.varying[i] = varies(sample, i, n, desk)
        eligible += desk.varying[i]
    wanted = min(law.max_features, eligible)
    best_input, best_cost, best_length = -1, WORST, 0
    draw = chained(key, DRAWS)
    chosen = np.zeros(eligible, np.bool_)
    for step in range(wanted):
        last = eligible - wanted + step
        rank = below(chained(draw, step), last + 1)
        chosen[last if chosen[rank] else rank] = True
    rank = -1
    for i in range(inputs):
        if not desk.varying[i]:
            continue
        rank += 1
        if not chosen[rank]:
            continue
        count_input(sample, i, n, desk)
        group_input(sample, i, n, desk)
        draw = chained(key, DRAWS + 1 + i)
        if binary and not sample.ordered[i]:
            length, cost = best_value(sample, law, i, draw, node, desk)
        else:
            count = order_values(sample, law, i, draw, node, kinds, desk)
            length, cost = best_prefix(sample, law, i, count, draw, node, desk)
        if cost < best_cost:
            best_input, best_cost, best_length = i, cost, length
            desk.best[:length] = desk.order[:length]
    if best_input >= 0 and not binary and not sample.ordered[best_input]:
        best_length = smaller_side(sample, best_input, best_length, node[0], desk)
    return best_input, best_cost, best_length


@kernel
def smaller_side(sample: Any, i: Any, length: Any, rows: Any, desk: Any) -> Any:
    """Keeps desk.best[:length], values of input i, if they hold at most half of the rows, else takes the others.

    What is not listed goes with the rest: so a value that the node has not seen goes where most rows go.
    """
    taken = 0
    for place in range(length):
        g = desk.best[place]
        for position in range(desk.end[g] - desk.count[g], desk.end[g]):
            taken += desk.weight[desk.group[i, position]]
    if 2 * taken <= rows:
        return length
    begin = sample.base[i]
    for place in range(length):
        desk.mark[desk.best[place] - begin] = True
    others = 0
    for place in range(begin, begin + desk.distinct[i]):
        g = desk.present[place]
        if desk.mark[g - begin]:
            desk.mark[g - begin] = False
        else:
            desk.best[others] = g
            others += 1
    return others


@kernel
def order_values(sample: Any, law: Any, i: Any, draw: Any, node: Any, kinds: Any, desk: Any) -> Any:
    """The values of input i that may be split off, highest score first, ties by value, into desk.order."""
    rows = node[0]
    present = desk.present[sample.base[i] : sample.base[i] + desk.distinct[i]]
    if sample.ordered[i]:
        desk.order[: present.size] = present
        return present.size
    target, share = -1, 0.0
    if not law.projection:
        at = below(chained(draw, 0), rows)
        for place in range(kinds):
            target = desk.classes[place]
            at -= desk.in_node[target]
            if at < 0:
                break
        share = law.smoothing * (desk.in_node[target] / rows)
    count = 0
    for g in present:
        held, mass = 0, 0
        for position in range(desk.end[g] - desk.count[g], desk.end[g]):
            at = desk.group[i, position]
            label = desk.label[at]
            held += desk.weight[at]
            if law.projection:
                mass += desk.weight[at] * (chained(draw, label) >> 48)
            elif label == target:
                mass += desk.weight[at]
        if held >= law.min_rows:
            desk.order[count] = g
            desk.score[count] = mass / held if law.projection else (mass + share) / (held + law.smoothing)
            count += 1
    by_score(desk.order[:count], desk.score[:count])
    return count


@kernel
def by_score(values: Any, scores: Any) -> None:
    """Sorts values by falling score, equal ones by value (Shell's sort, gaps of Ciura 2001)."""
    for gap in _GAPS:
        for place in range(gap, values.size):
            value, score = values[place], scores[place]
            before = place - gap
            while before >= 0 and (scores[before] < score or (scores[before] == score and values[before] > value)):
                values[before + gap], scores[before + gap] = values[before], scores[before]
                before -= gap
            values[before + gap], scores[before + gap] = value, score


@kernel
def best_prefix(sample: Any, law: Any, i: Any, count: Any, draw: Any, node: Any, desk: Any) -> Any:
    """The length of the best prefix of desk.order[:count], and its cost."""
    rows, weighted, in_all = node
    most = min(count, desk.distinct[i] - 1)
    if not sample.ordered[i]:
        most = min(most, law.max_prefix)
    only = 1 + below(chained(draw, 1), most) if law.extra and most > 0 else 0
    best_length, best_cost = 0, WORST
    taken, total, left, right = 0, 0, 0, in_all
    for place in range(most):
        g = desk.order[place]
        for position in range(desk.end[g] - desk.count[g], desk.end[g]):
            at = desk.group[i, position]
            label, weight = desk.label[at], desk.weight[at]
            times, here, whole = sample.class_weight[label], desk.in_left[label], desk.in_node[label]
            there = whole - here
            left += term(law, times * (here + weight)) - term(law, times * here)
            right += term(law, times * (there - weight)) - term(law, times * there)
            desk.in_left[label] = here + weight
            total += times * weight
            taken += weight
        if only and place + 1 != only:
            continue
        if taken >= law.min_leaf and rows - taken >= law.min_leaf:
            cost = cost_of(law, total, weighted - total, left, right)
            if cost < best_cost:
                best_length, best_cost = place + 1, cost
    for place in range(most):
        g = desk.order[place]
        for position in range(desk.end[g] - desk.count[g], desk.end[g]):
            desk.in_left[desk.label[desk.group[i, position]]] = 0
    return best_length, best_cost


@kernel
def best_value(sample: Any, law: Any, i: Any, draw: Any, node: Any, desk: Any) -> Any:
    """The best single value of input i against the rest, into desk.order[0]. Returns 1 and its cost."""
    present = desk.present[sample.base[i] : sample.base[i] + desk.distinct[i]]
    only = below(chained(draw, 1), present.size) if law.extra else -1
    best, best_cost = present[0], WORST
    for rank in range(present.size):
        if law.extra and rank != only:
            continue
        desk.order[0] = present[rank]
        cost = subset_cost(law, sample, i, 1, node, desk)
        if cost < best_cost:
            best, best_cost = present[rank], cost
    desk.order[0] = best
    return 1, best_cost
