"""Many types of one chain scored against the same counts on a CPU, and moved one after the other.

A type is taken out of the counts, scored, and put back, so that the next one sees the same counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuclf.ops.kernel import kernel
from gpuclf.ops.type_gibbs.cpu_tables import extended_tags, feature_logs, renew, size_terms, transition_logs
from gpuclf.ops.type_gibbs.cpu_visit import (
    add_features,
    add_transitions,
    forget,
    look,
    put_tokens,
    put_type,
    renew_features,
    score_sizes,
)


class Desk(NamedTuple):
    """A chain's kept logarithms (cpu_tables), its tags with the edge behind them, and space for a visit (cpu_visit)."""

    extended: Any
    rows: Any
    columns: Any
    value_logs: Any
    base: Any
    terms: Any
    left: Any
    lefts: Any
    right: Any
    rights: Any


@kernel
def desk_of(corpus: Any, chain: Any, setting: Any) -> Any:
    """The desk that belongs to the chain's counts."""
    side, k = chain.cells.shape[0], chain.types.shape[0]
    alpha, beta, level = setting.alpha, setting.beta, setting.level
    rows, columns = transition_logs(chain.cells, setting.log_alpha, alpha)
    base, terms = size_terms(chain.types, chain.tokens, corpus.num_values, side, alpha, beta, level)
    return Desk(
        extended_tags(chain.tags, k), rows, columns, feature_logs(chain.by_value, setting.log_beta, level), base, terms,
        np.zeros(side, np.int64), np.empty(side, np.int64), np.zeros(side, np.int64), np.empty(side, np.int64),
    )  # fmt: skip


@kernel
def score_batch(corpus: Any, chain: Any, setting: Any, desk: Any, batch: Any, scores: Any) -> None:
    """log P(T_i = t | all other tags) up to a constant of every type in `batch`, into scores (at least batch, K)."""
    left_start, left_type, left_count, right_start, right_type, right_count, owns, frequency, values, num_values = (
        corpus
    )
    _, cells, types, tokens, by_value = chain
    alpha, beta, level, _, _, log_alpha, rises, log_beta = setting
    extended, rows, columns, value_logs, base, terms, left, lefts, right, rights = desk
    for place in range(batch.shape[0]):
        i, score = batch[place], scores[place]
        tag, n, own = np.int64(extended[i]), frequency[i], owns[i]
        met_left = look(i, left_start, left_type, left_count, extended, left, lefts)
        met_right = look(i, right_start, right_type, right_count, extended, right, rights)
        put_tokens(
            tag, -1, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, log_alpha, alpha
        )
        put_type(i, tag, -1, values, frequency, types, tokens, by_value)
        score_sizes(score, tag, n, base, terms, types, tokens, num_values, alpha, beta, level)
        add_transitions(score, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, rises, alpha)
        add_features(score, i, tag, values, by_value, value_logs, log_beta, level)
        put_tokens(tag, 1, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, log_alpha, alpha)
        put_type(i, tag, 1, values, frequency, types, tokens, by_value)
        forget(left, lefts, met_left)
        forget(right, rights, met_right)


@kernel
def move_batch(corpus: Any, chain: Any, setting: Any, desk: Any, batch: Any, new: Any, weighed: Any) -> Any:
    """Give the types of `batch` new tags, in place; where `weighed`, by how much the log joint rises, else 0.

    Between two tags of one type the log joint differs as its scores do, so that a batch is weighed move by move.
    """
    left_start, left_type, left_count, right_start, right_type, right_count, owns, frequency, values, num_values = (
        corpus
    )
    tags, cells, types, tokens, by_value = chain
    alpha, beta, level, _, _, log_alpha, _, log_beta = setting
    extended, rows, columns, value_logs, base, terms, left, lefts, right, rights = desk
    side, gain, score = cells.shape[0], 0.0, np.empty((1, types.shape[0]))
    for place in range(batch.shape[0]):
        i = batch[place]
        old, own = np.int64(extended[i]), owns[i]
        if new[place] == old:
            continue
        if weighed:
            score_batch(corpus, chain, setting, desk, batch[place : place + 1], score)
            gain += score[0, new[place]] - score[0, old]
        met_left = look(i, left_start, left_type, left_count, extended, left, lefts)
        met_right = look(i, right_start, right_type, right_count, extended, right, rights)
        tags[i] = extended[i] = new[place]
        for tag, sign in ((old, -1), (new[place], 1)):
            put_tokens(
                tag, sign, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, log_alpha, alpha
            )
            put_type(i, tag, sign, values, frequency, types, tokens, by_value)
            renew(tag, base, terms, types, tokens, num_values, side, alpha, beta, level)
            renew_features(i, tag, values, by_value, value_logs, log_beta, level)
        forget(left, lefts, met_left)
        forget(right, rights, met_right)
    return gain
