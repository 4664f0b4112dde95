"""What one tree's kernel works with: its rows, its rules as numbers, and scratch memory. Kernels of counting."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuclf.ops.kernel import kernel

_FEW = 8
_GAPS = (411529, 143243, 49859, 17354, 6041, 2103, 701, 301, 132, 57, 23, 10, 4, 1)  # Ciura 2001


class Sample(NamedTuple):
    """The table and one tree's sample: codes (docs, M) int32, base (M + 1,) int64: first value of each input among the
    values of all; ordered (M,) bool; labels, weight (docs,) int32; class_weight (K,) int64."""

    codes: Any
    base: Any
    ordered: Any
    labels: Any
    weight: Any
    class_weight: Any


class Law(NamedTuple):
    """GrowthRules as numbers and tables; `terms` is that of records.terms, of one element for Gini."""

    gini: Any
    projection: Any
    extra: Any
    max_depth: Any
    min_leaf: Any
    min_split: Any
    max_features: Any
    smoothing: Any
    min_rows: Any
    max_prefix: Any
    lazy: Any
    recount_below: Any
    subset: Any
    candidates: Any
    terms: Any


class Desk(NamedTuple):
    """Scratch. The rows at work stand at places 0 … n - 1, with row, label, weight.

    count[g], end[g]: places that hold value g (of all inputs' values), and the end of its group in `group` (M, rows);
    present: the values there are, those of input i from base[i] on, distinct[i] of them; grouped[i];
    relevant, offers: likewise, values of a list that the node has from above (see cpu_relevant).
    in_node, in_left (K,): weighted rows by class; classes: those of the node; touched: those on the left.
    order, mark: of the values of one input; best: the values of the best split so far; side: places going left.
    """

    row: Any
    label: Any
    weight: Any
    count: Any
    end: Any
    group: Any
    present: Any
    distinct: Any
    relevant: Any
    offers: Any
    grouped: Any
    in_node: Any
    in_left: Any
    classes: Any
    touched: Any
    order: Any
    mark: Any
    best: Any
    side: Any
    spare: Any


def new_desk(rows: int, inputs: int, values: int, widest: int, classes: int) -> Desk:
    """Scratch for a tree of so many rows."""

    def zeros(*shape: int) -> Any:
        return np.zeros(shape, dtype=np.int32)

    def flags(length: int) -> Any:
        return np.zeros(length, dtype=np.bool_)

    return Desk(
        row=zeros(rows),
        label=zeros(rows),
        weight=zeros(rows),
        count=zeros(values),
        end=zeros(values),
        group=zeros(inputs, rows),
        present=zeros(values),
        distinct=np.zeros(inputs, dtype=np.int64),
        relevant=zeros(values),
        offers=np.zeros(inputs, dtype=np.int64),
        grouped=flags(inputs),
        in_node=np.zeros(classes, dtype=np.int64),
        in_left=np.zeros(classes, dtype=np.int64),
        classes=zeros(classes),
        touched=zeros(classes),
        order=zeros(widest),
        mark=flags(widest),
        best=zeros(widest),
        side=flags(rows),
        spare=zeros(rows),
    )


@kernel
def take_rows(sample: Any, rows: Any, desk: Any) -> Any:
    """Puts a node's rows on the desk. Returns the number of its classes (rising in desk.classes) and its rows."""
    kinds = 0
    total = 0
    for place in range(rows.size):
        row = rows[place]
        label, weight = sample.labels[row], sample.weight[row]
        desk.row[place], desk.label[place], desk.weight[place] = row, label, weight
        if desk.in_node[label] == 0:
            desk.classes[kinds] = label
            kinds += 1
        desk.in_node[label] += weight
        total += weight
    sort_values(desk.classes[:kinds])
    return kinds, total


@kernel
def leave_rows(kinds: Any, desk: Any) -> None:
    """Clears the class counts of a node."""
    for place in range(kinds):
        desk.in_node[desk.classes[place]] = 0


@kernel
def count_values(sample: Any, n: Any, desk: Any) -> None:
    """Which values of every input the n rows on the desk hold."""
    inputs = sample.base.size - 1
    for place in range(n):
        row = desk.row[place]
        for i in range(inputs):
            g = sample.base[i] + sample.codes[row, i]
            if desk.count[g] == 0:
                desk.present[sample.base[i] + desk.distinct[i]] = g
                desk.distinct[i] += 1
            desk.count[g] += 1


@kernel
def count_input(sample: Any, i: Any, n: Any, desk: Any) -> None:
    """Which values of input i the n rows on the desk hold."""
    begin = sample.base[i]
    found = begin
    for place in range(n):
        g = begin + sample.codes[desk.row[place], i]
        if desk.count[g] == 0:
            desk.present[found] = g
            found += 1
        desk.count[g] += 1
    desk.distinct[i] = found - begin


@kernel
def clear_values(sample: Any, desk: Any) -> None:
    """Undoes count_values and count_input."""
    for i in range(sample.base.size - 1):
        begin = sample.base[i]
        for place in range(begin, begin + desk.distinct[i]):
            desk.count[desk.present[place]] = 0
        desk.distinct[i] = 0
        desk.grouped[i] = False


@kernel
def group_input(sample: Any, i: Any, n: Any, desk: Any) -> None:
    """Sorts the present values of input i and groups the places by them; does nothing the second time."""
    if desk.grouped[i]:
        return
    desk.grouped[i] = True
    begin, length = sample.base[i], desk.distinct[i]
    present = desk.present[begin : begin + length]
    if length > _FEW and length * 8 > sample.base[i + 1] - begin:
        found = 0
        for g in range(begin, sample.base[i + 1]):
            if desk.count[g] > 0:
                present[found] = g
                found += 1
    else:
        sort_values(present)
    running = 0
    for place in range(length):
        g = present[place]
        desk.end[g] = running
        running += desk.count[g]
    group = desk.group[i]
    for place in range(n):
        g = begin + sample.codes[desk.row[place], i]
        group[desk.end[g]] = place
        desk.end[g] += 1


@kernel
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
