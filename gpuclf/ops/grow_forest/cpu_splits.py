"""The best composed split of a node on the CPU: kernels over a desk with the node's rows and their counted values.

A split's cost, to be lowest, is a whole number: for entropy the bits in both sides together, from the table of
n · log2 n; for Gini minus the sum over the sides of Σ n_k² / n. Ties go to the first candidate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.grow_forest.desk import count_input, count_values, group_input
from gpuclf.ops.grow_forest.draws import below, chained
from gpuclf.ops.grow_forest.records import DRAWS, TERM_BITS
from gpuclf.ops.kernel import kernel

WORST = np.int64((1 << 63) - 1)
SCALE = float(1 << TERM_BITS)


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
