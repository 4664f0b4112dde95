"""What the kernel of sorted and binary splits works with: the table by columns, and scratch memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Columns(NamedTuple):
    """The table and one tree's sample: columns (M, docs) int32 of codes, ordered (M,) bool; labels, weight (docs,)
    int32; class_weight (K,) int64."""

    columns: Any
    ordered: Any
    labels: Any
    weight: Any
    class_weight: Any


class Bench(NamedTuple):
    """Scratch of a tree with n rows. row, label, weight, spare: the rows, node by node. inputs: those that do not vary
    stand first; varying, chosen: flags by input; picked: by the rank of one that varies.

    slot: by code, where its figures stand (-1: absent): code, count (rows), held (weighted rows), mass and start.
    order, score: codes that may be split off, best first, then the others; bits: of the scores; ordered, level,
    score_of, ends, table, words: for sorting. dealt_label, dealt_weight: rows in that order, those of each code up to
    its stop. classes: the node's, rising; in_node, part: by class; tally (K, 5): of the cut under way. best: codes of
    the best split.
    """

    row: Any
    label: Any
    weight: Any
    spare: Any
    inputs: Any
    varying: Any
    chosen: Any
    picked: Any
    slot: Any
    code: Any
    count: Any
    held: Any
    mass: Any
    start: Any
    stop: Any
    order: Any
    score: Any
    bits: Any
    ordered: Any
    level: Any
    score_of: Any
    ends: Any
    table: Any
    words: Any
    dealt_label: Any
    dealt_weight: Any
    classes: Any
    in_node: Any
    part: Any
    tally: Any
    best: Any


def new_bench(rows: int, inputs: int, widest: int, classes: int) -> Bench:
    """Scratch for a tree of so many rows."""
    most = min(rows, widest)

    def whole(*shape: int) -> Any:
        return np.zeros(shape, dtype=np.int32)

    def long(length: int) -> Any:
        return np.zeros(length, dtype=np.int64)

    score = np.zeros(most, dtype=np.float64)
    return Bench(
        row=whole(rows),
        label=whole(rows),
        weight=whole(rows),
        spare=whole(3, rows),
        inputs=np.arange(inputs, dtype=np.int32),
        varying=np.zeros(inputs, dtype=np.bool_),
        chosen=np.zeros(inputs, dtype=np.bool_),
        picked=np.zeros(inputs, dtype=np.bool_),
        slot=np.full(widest, -1, dtype=np.int32),
        code=whole(most),
        count=whole(most),
        held=long(most),
        mass=long(most),
        start=whole(most),
        stop=whole(most),
        order=whole(most),
        score=score,
        bits=score.view(np.int64),
        ordered=whole(most),
        level=whole(most),
        score_of=np.zeros(most, dtype=np.float64),
        ends=whole(most),
        table=whole(max(64, 4 * most)),
        words=np.zeros((widest + 63) // 64, dtype=np.uint64),
        dealt_label=whole(rows),
        dealt_weight=whole(rows),
        classes=whole(classes),
        in_node=long(classes),
        part=long(classes),
        tally=np.zeros((classes, 5), dtype=np.int64),
        best=whole(most),
    )
