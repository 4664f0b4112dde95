"""The steps of a visit to one type on the CPU: look around, take its counts out, score its tags, draw, put it back.

Names as in cpu_tables; left and right (K+1,) count a type's neighbours by tag and are zero between visits; lefts and
rights name the tags met, met_left and met_right how many these are.
"""

from __future__ import annotations

import math
from typing import Any

from gpuclf.ops.kernel import kernel
from gpuclf.ops.type_gibbs.cpu_tables import KEPT, cell_rise, prior, shift, size_base, size_term

_NEGLIGIBLE = -45.0  # exp of it vanishes beside 1 in float64


@kernel
def look(i: Any, start: Any, other: Any, number: Any, extended: Any, seen: Any, touched: Any) -> Any:
    """Neighbours of type i on one side by tag, into seen; the tags met into touched; how many these are."""
    met = 0
    for entry in range(start[i], start[i + 1]):
        tag = extended[other[entry]]
        if seen[tag] == 0:
            touched[met] = tag
            met += 1
        seen[tag] += number[entry]
    return met


@kernel
def forget(seen: Any, touched: Any, met: Any) -> None:
    """Zero the neighbour counts again."""
    for a in range(met):
        seen[touched[a]] = 0


@kernel
def put_tokens(
    tag: Any, sign: Any, own: Any, left: Any, lefts: Any, met_left: Any, right: Any, rights: Any, met_right: Any,
    cells: Any, rows: Any, columns: Any, log_alpha: Any, alpha: Any,
) -> None:  # fmt: skip
    """Put the bigrams of a type in (sign 1) or take them out (-1)."""
    for a in range(met_left):
        shift(cells, rows, columns, log_alpha, alpha, lefts[a], tag, sign * left[lefts[a]])
    for a in range(met_right):
        shift(cells, rows, columns, log_alpha, alpha, tag, rights[a], sign * right[rights[a]])
    if own:
        shift(cells, rows, columns, log_alpha, alpha, tag, tag, sign * own)


@kernel
def put_type(
    i: Any, tag: Any, sign: Any, values: Any, frequency: Any, types: Any, tokens: Any, by_value: Any
) -> None:  # fmt: skip
    """Put the other counts of type i in (sign 1) or take them out (-1). The logs of its feature values and of its tag's
    size stay as they were: they are renewed when it has moved."""
    types[tag] += sign
    tokens[tag] += sign * frequency[i]
    for f in range(values.shape[1]):
        by_value[values[i, f], tag] += sign


@kernel
def score_sizes(
    score: Any, old: Any, n: Any, base: Any, terms: Any, types: Any, tokens: Any, num_values: Any,
    alpha: Any, beta: Any, level: Any,
) -> None:  # fmt: skip
    """Begin log P(T_i = t | rest) of a type of n tokens with what depends on the size of each tag; the kept terms of
    the tag that it was taken out of are too old."""
    tags = score.shape[0]
    if n <= KEPT:
        for t in range(tags):
            score[t] = base[t] + terms[n, t]
    else:
        for t in range(tags):
            score[t] = base[t] + size_term(types[t], tokens[t], n, tags + 1, alpha)
    score[old] = size_base(types[old], tokens[old], num_values, alpha, beta, level)
    score[old] += size_term(types[old], tokens[old], n, tags + 1, alpha)


@kernel
def add_transitions(
    score: Any, own: Any, left: Any, lefts: Any, met_left: Any, right: Any, rights: Any, met_right: Any,
    cells: Any, rows: Any, columns: Any, rises: Any, alpha: Any,
) -> None:  # fmt: skip
    """Add the transitions of all tokens of the type to the score."""
    tags = score.shape[0]
    for a in range(met_left):
        s = lefts[a]
        k = left[s]
        if k == 1:
            for t in range(tags):
                score[t] += rows[s, t]
        else:
            for t in range(tags):
                score[t] += cell_rise(rises, alpha, cells[s, t], k)
    for a in range(met_right):
        u = rights[a]
        k = right[u]
        if k == 1:
            for t in range(tags):
                score[t] += columns[u, t]
        else:
            for t in range(tags):
                score[t] += cell_rise(rises, alpha, cells[t, u], k)
    for a in range(tags if own else met_left):  # left, right and own bigrams of one tag meet in one cell
        t = a if own else lefts[a]
        if t < tags and (own or right[t]):
            cell = cells[t, t]
            score[t] += cell_rise(rises, alpha, cell, left[t] + right[t] + own)
            score[t] -= cell_rise(rises, alpha, cell, left[t]) + cell_rise(rises, alpha, cell, right[t])


@kernel
def score_tokens(
    score: Any, n: Any, own: Any, repeat: Any, followed: Any, outcomes: Any,
    left: Any, lefts: Any, met_left: Any, right: Any, rights: Any, met_right: Any,
    rows: Any, columns: Any, totals: Any, types: Any, tokens: Any, num_values: Any, alpha: Any, beta: Any, level: Any,
) -> None:  # fmt: skip
    """All but the features of the score where tokens are taken for independent (reference.token_scores); totals: sums
    of the rows of cells over the outcomes, K or K + 1 of them; followed: how many of these the type's tokens bring."""
    tags = score.shape[0]
    for t in range(tags):
        s = types[t]
        score[t] = n * (math.log(alpha) - math.log(tokens[t] + (s + 1) * alpha)) + prior(s, num_values, beta, level)
        score[t] += repeat * own * rows[t, t] - followed * math.log(totals[t] + outcomes * alpha)
    for a in range(met_left):
        s = lefts[a]
        for t in range(tags):
            score[t] += left[s] * rows[s, t]
    for a in range(met_right):
        u = rights[a]
        if u < outcomes:
            for t in range(tags):
                score[t] += right[u] * columns[u, t]


@kernel
def add_features(
    score: Any, i: Any, old: Any, values: Any, by_value: Any, value_logs: Any, log_beta: Any, level: Any
) -> None:  # fmt: skip
    """Add log(F + beta) of the type's feature values; the logs of its old tag still count the type itself."""
    if level == 2:
        for f in range(values.shape[1]):
            value = values[i, f]
            for t in range(score.shape[0]):
                score[t] += value_logs[value, t]
            score[old] += log_beta[by_value[value, old]] - value_logs[value, old]


@kernel
def renew_features(
    i: Any, tag: Any, values: Any, by_value: Any, value_logs: Any, log_beta: Any, level: Any
) -> None:  # fmt: skip
    """The logs of the feature values of a type that has left the tag or come to it."""
    if level == 2:
        for f in range(values.shape[1]):
            value_logs[values[i, f], tag] = log_beta[by_value[values[i, f], tag]]


@kernel
def draw(score: Any, weight: Any, u: Any, temperature: Any) -> Any:
    """The tag where the running sum of exp((score - max) / temperature) first passes u of the total."""
    best, total = score[0], 0.0
    for t in range(1, score.shape[0]):
        best = max(best, score[t])
    for t in range(score.shape[0]):
        height = (score[t] - best) / temperature
        weight[t] = math.exp(height) if height > _NEGLIGIBLE else 0.0
        total += weight[t]
    goal, running = u * total, 0.0
    for t in range(score.shape[0]):
        running += weight[t]
        if running > goal:
            return t
    return score.shape[0] - 1
