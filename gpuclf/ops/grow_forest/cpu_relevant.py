"""Lists of relevant values that nodes have from above (GrowthRules.relevant: lazy): kept once, taken by many nodes.

A pool is an array of int32; a list in it is the rows of the node that counted it, the number of values of each input,
and the values, rising. Place 0 is no list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.grow_forest.desk import group_input
from gpuclf.ops.kernel import kernel


@kernel
def stands(law: Any, rows: Any, at: Any, pool: Any) -> Any:
    """Whether a node of so many rows goes by the list at place `at`: see GrowthRules."""
    return at > 0 and rows >= law.recount_below and 2 * rows > pool[at]


@kernel
def take_list(sample: Any, pool: Any, at: Any, desk: Any) -> None:
    """The list at place `at` onto the desk."""
    inputs = sample.base.size - 1
    place = at + 1 + inputs
    for i in range(inputs):
        begin, length = sample.base[i], np.int64(pool[at + 1 + i])
        desk.offers[i] = length
        desk.relevant[begin : begin + length] = pool[place : place + length]
        place += length


@kernel
def keep_list(sample: Any, n: Any, rows: Any, pool: Any, filled: Any, desk: Any) -> Any:
    """What count_values found for the n places on the desk, at place `filled` of the pool (or of a longer one).

    Returns the pool and how much of it is filled.
    """
    inputs = sample.base.size - 1
    needed = filled + 1 + inputs + desk.distinct.sum()
    if needed > pool.size:
        longer = np.zeros(2 * needed, np.int32)
        longer[:filled] = pool[:filled]
        pool = longer
    pool[filled] = rows
    place = filled + 1 + inputs
    for i in range(inputs):
        group_input(sample, i, n, desk)  # it sorts the values
        begin, length = sample.base[i], desk.distinct[i]
        pool[filled + 1 + i] = length
        pool[place : place + length] = desk.present[begin : begin + length]
        place += length
    return pool, place
