"""What a CPU walk keeps beside a chain's counts: logarithms that most visits only have to add up.

The helpers take arrays one by one, not in records: taking an array out of a record counts a reference, atomically, and
that alone took half of a walk's time.

Names: cells, types, tokens, by_value are Counts of the chain; rows and columns log(cells + alpha) by row and by column;
value_logs log(by_value + beta); base (K,) and terms (KEPT+1, K) what depends on a tag's size only, for any type and for
a type of n tokens; log_alpha[c] = log(c + alpha), rises[c] = log rise(alpha, c), log_beta[c] = log(c + beta).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuclf.ops.kernel import kernel

KEPT = 4  # types of up to so many tokens have their tag terms kept
_FULL = 1e150  # a product is turned into its logarithm here, long before it overflows


class Corpus(NamedTuple):
    """TypeContexts and TypeFeatures as arrays."""

    left_start: Any
    left_type: Any
    left_count: Any
    right_start: Any
    right_type: Any
    right_count: Any
    own: Any
    frequency: Any
    values: Any
    num_values: Any


class Setting(NamedTuple):
    """A chain's parameters and look-ups; repeat: how often a bigram of a type with itself counts."""

    alpha: Any
    beta: Any
    level: Any
    temperature: Any
    repeat: Any
    log_alpha: Any
    rises: Any
    log_beta: Any


class Settings(NamedTuple):
    """Of all chains: parameters (R,), and look-ups by different alpha and beta; of_alpha, of_beta (R,): a chain's."""

    alpha: Any
    beta: Any
    level: Any
    of_alpha: Any
    of_beta: Any
    log_alpha: Any
    rises: Any
    log_beta: Any
    temperature: Any
    repeat: Any


class Chain(NamedTuple):
    """Tags (types,) and Counts of one chain, changed in place; or those of all chains."""

    tags: Any
    cells: Any
    types: Any
    tokens: Any
    by_value: Any


@kernel
def rise(x: Any, k: Any) -> Any:
    """`log_rise` of one number."""
    product = 1.0
    for j in range(min(k, 8)):
        product *= x + j
    total = math.log(product)
    if k > 8:
        low, more = x + 8.0, float(k - 8)
        high = low + more
        a, b = 1.0 / (low * low), 1.0 / (high * high)
        series_low = (1 / 12 - a * (1 / 360 - a * (1 / 1260 - a * (1 / 1680 - a * (1 / 1188))))) / low
        series_high = (1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b * (1 / 1188))))) / high
        total += (low - 0.5) * math.log1p(more / low) + more * math.log(high) - more + (series_high - series_low)
    return total


@kernel
def cell_rise(rises: Any, alpha: Any, count: Any, k: Any) -> Any:
    """log rise(count + alpha, k), looked up where both counts are in the table."""
    if count + k < rises.shape[0]:
        return rises[count + k] - rises[count]
    return rise(count + alpha, k)


@kernel
def size_term(s: Any, tokens: Any, n: Any, side: Any, alpha: Any) -> Any:
    """What a tag of s types and so many tokens adds for one more type of n tokens: the emission after it and the total
    of the tag's row. Every token begins one bigram, so the row's total is the tag's tokens; side is K + 1."""
    x, y = (s + 1) * alpha + tokens, side * alpha + tokens
    if n <= 8:  # both in one logarithm
        product = 1.0
        for j in range(n):
            product *= (x + j) * (y + j)
        return -math.log(product)
    return -rise(x, n) - rise(y, n)


@kernel
def size_base(s: Any, tokens: Any, num_values: Any, alpha: Any, beta: Any, level: Any) -> Any:
    """What a tag of s types and so many tokens adds for any type: prior, feature totals, emission before it."""
    base = prior(s, num_values, beta, level) - rise((s + 1) * alpha, tokens)
    return base + rise(s * alpha, tokens) if s > 0 else base


@kernel
def prior(s: Any, num_values: Any, beta: Any, level: Any) -> Any:
    """Prior and feature totals of a tag of s types."""
    if level == 0:
        return 0.0
    total, product = math.log(s + beta), 1.0
    if level == 2:
        for f in range(num_values.shape[0]):
            product *= s + beta * num_values[f]
            if product > _FULL or product < 1.0 / _FULL:
                total -= math.log(product)
                product = 1.0
    return total - math.log(product)


@kernel
def renew(
    t: Any, base: Any, terms: Any, types: Any, tokens: Any, num_values: Any, side: Any,
    alpha: Any, beta: Any, level: Any,
) -> None:  # fmt: skip
    """The kept terms of a tag whose size has changed."""
    base[t] = size_base(types[t], tokens[t], num_values, alpha, beta, level)
    for n in range(terms.shape[0]):
        terms[n, t] = size_term(types[t], tokens[t], n, side, alpha)


@kernel
def shift(
    cells: Any, rows: Any, columns: Any, log_alpha: Any, alpha: Any, row: Any, column: Any, by: Any
) -> None:  # fmt: skip
    """Change a transition count and the two tables of its logarithm."""
    count = cells[row, column] + by
    cells[row, column] = count
    value = log_alpha[count] if count < log_alpha.shape[0] else math.log(count + alpha)
    rows[row, column] = value
    columns[column, row] = value


@kernel
def transition_logs(cells: Any, log_alpha: Any, alpha: Any) -> Any:
    """rows and columns of all cells."""
    side = cells.shape[0]
    rows, columns = np.empty((side, side)), np.empty((side, side))
    for row in range(side):
        for column in range(side):
            shift(cells, rows, columns, log_alpha, alpha, row, column, 0)
    return rows, columns


@kernel
def feature_logs(by_value: Any, log_beta: Any, level: Any) -> Any:
    """value_logs of all values and tags; of none where the level has no features."""
    values = by_value.shape[0] if level == 2 else 0
    value_logs = np.empty((values, by_value.shape[1]))
    for value in range(values):
        for t in range(by_value.shape[1]):
            value_logs[value, t] = log_beta[by_value[value, t]]
    return value_logs


@kernel
def size_terms(
    types: Any, tokens: Any, num_values: Any, side: Any, alpha: Any, beta: Any, level: Any
) -> Any:  # fmt: skip
    """base and terms of all tags."""
    tags = types.shape[0]
    base, terms = np.empty(tags), np.empty((KEPT + 1, tags))
    for t in range(tags):
        renew(t, base, terms, types, tokens, num_values, side, alpha, beta, level)
    return base, terms


@kernel
def extended_tags(tags: Any, num_tags: Any) -> Any:
    """The tags and, for the edge of a sentence, K behind them."""
    extended = np.empty(tags.shape[0] + 1, dtype=np.int32)
    extended[:-1] = tags
    extended[-1] = num_tags
    return extended
