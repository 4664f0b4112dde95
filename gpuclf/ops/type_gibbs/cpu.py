"""Sweeps on a CPU: a thread walks one chain at a time; what a visit does not change is kept as logarithms.

With K tags, log(count + alpha) of the K cells beside one neighbour is a row of a table that is kept up to date, and so
are the logs of every feature value's counts and each tag's terms for types of few tokens. Most types are rare: to score
one is to add a dozen rows of K numbers. A cell of larger counts takes two look-ups of log rise(alpha, count).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads
from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.cpu_chains import as_corpus, as_settings, chain_of, portions, setting_of
from gpuclf.ops.type_gibbs.cpu_desk import desk_of, score_batch
from gpuclf.ops.type_gibbs.cpu_tables import Chain, extended_tags, feature_logs, renew, size_terms, transition_logs
from gpuclf.ops.type_gibbs.cpu_visit import (
    add_features,
    add_transitions,
    draw,
    forget,
    look,
    put_tokens,
    put_type,
    renew_features,
    score_sizes,
    score_tokens,
)
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures, Visits

_PORTION = 256  # types whose margins are worked out from one table of scores


def sweep(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    sampler: str = "exact",
) -> Tensor:
    """See the package."""
    assert all(part.is_contiguous() for part in (tags, *counts)), "tags and counts change in place"
    changes = torch.zeros(len(tags), dtype=torch.int64)
    corpus, chains = as_corpus(contexts, features), Chain(*(part.numpy() for part in (tags, *counts)))
    settings = as_settings(hyper, contexts.num_types, visits.temperature, 2 if sampler == "clojure" else 1)
    walk = _sweep_exact if sampler == "exact" else _sweep_tokens
    drawn = (visits.order.numpy(), visits.draws.numpy(), changes.numpy())
    run_on_threads([partial(walk, corpus, chains, settings, *drawn, a, b) for a, b in portions(len(tags))])
    return changes


def margins(
    contexts: TypeContexts, features: TypeFeatures, tags: Tensor, counts: Counts, hyper: Hyper, types: Tensor
) -> Tensor:
    """See the package."""
    out = torch.zeros((len(tags), types.numel()), dtype=torch.float64)
    corpus, chains = as_corpus(contexts, features), Chain(*(part.clone().numpy() for part in (tags, *counts)))
    given = (corpus, chains, as_settings(hyper, contexts.num_types, 1.0, 1), types.numpy(), out.numpy())
    run_on_threads([partial(_all_margins, *given, a, b) for a, b in portions(len(tags))])
    return out


@kernel
def _walk_exact(corpus, chain, setting, order, draws):
    """One chain through the types of `order`, by the collapsed conditional of all tokens of a type."""
    left_start, left_type, left_count, right_start, right_type, right_count, owns, frequency, values, num_values = (
        corpus
    )
    tags, cells, types, tokens, by_value = chain
    alpha, beta, level, temperature, _, log_alpha, rises, log_beta = setting
    side, k, changes = cells.shape[0], types.shape[0], 0
    extended, score, weight = extended_tags(tags, k), np.empty(k), np.empty(k)
    rows, columns = transition_logs(cells, log_alpha, alpha)
    value_logs = feature_logs(by_value, log_beta, level)
    base, terms = size_terms(types, tokens, num_values, side, alpha, beta, level)
    left, right = np.zeros(side, np.int64), np.zeros(side, np.int64)
    lefts, rights = np.empty(side, np.int64), np.empty(side, np.int64)
    for i in order:
        old, n, own = np.int64(extended[i]), frequency[i], owns[i]
        met_left = look(i, left_start, left_type, left_count, extended, left, lefts)
        met_right = look(i, right_start, right_type, right_count, extended, right, rights)
        put_tokens(
            old, -1, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, log_alpha, alpha
        )
        put_type(i, old, -1, values, frequency, types, tokens, by_value)
        score_sizes(score, old, n, base, terms, types, tokens, num_values, alpha, beta, level)
        add_transitions(score, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, rises, alpha)
        add_features(score, i, old, values, by_value, value_logs, log_beta, level)
        new = draw(score, weight, draws[i], temperature)
        put_tokens(new, 1, own, left, lefts, met_left, right, rights, met_right, cells, rows, columns, log_alpha, alpha)
        put_type(i, new, 1, values, frequency, types, tokens, by_value)
        forget(left, lefts, met_left)
        forget(right, rights, met_right)
        if new != old:
            changes += 1
            tags[i] = extended[i] = new
            for tag in (old, new):
                renew(tag, base, terms, types, tokens, num_values, side, alpha, beta, level)
                renew_features(i, tag, values, by_value, value_logs, log_beta, level)
    return changes


@kernel
def _walk_tokens(corpus, chain, setting, order, draws):
    """One chain through the types of `order`, the tokens of a type taken for independent of each other."""
    left_start, left_type, left_count, right_start, right_type, right_count, owns, frequency, values, num_values = (
        corpus
    )
    tags, cells, types, tokens, by_value = chain
    alpha, beta, level, temperature, repeat, log_alpha, _, log_beta = setting
    side, k, changes = cells.shape[0], types.shape[0], 0
    extended, score, weight = extended_tags(tags, k), np.empty(k), np.empty(k)
    rows, columns = transition_logs(cells, log_alpha, alpha)
    value_logs, totals = feature_logs(by_value, log_beta, level), cells.sum(axis=1)
    outcomes = side if repeat == 2 else k  # the program knows the end of a sentence, the paper does not
    if outcomes == k:
        totals -= cells[:, k]
    left, right = np.zeros(side, np.int64), np.zeros(side, np.int64)
    lefts, rights = np.empty(side, np.int64), np.empty(side, np.int64)
    for i in order:
        old, n, own = np.int64(extended[i]), frequency[i], owns[i]
        met_left = look(i, left_start, left_type, left_count, extended, left, lefts)
        met_right = look(i, right_start, right_type, right_count, extended, right, rights)
        put_tokens(old, -1, repeat * own, left, lefts, met_left, right, rights, met_right,
                   cells, rows, columns, log_alpha, alpha)  # fmt: skip
        put_type(i, old, -1, values, frequency, types, tokens, by_value)
        followed = n + (repeat - 1) * own - (right[k] if outcomes == k else 0)
        for a in range(met_left):
            totals[lefts[a]] -= left[lefts[a]]
        totals[old] -= followed
        score_tokens(score, n, own, repeat, followed, outcomes, left, lefts, met_left, right, rights, met_right,
                     rows, columns, totals, types, tokens, num_values, alpha, beta, level)  # fmt: skip
        add_features(score, i, old, values, by_value, value_logs, log_beta, level)
        new = draw(score, weight, draws[i], temperature)
        put_tokens(new, 1, repeat * own, left, lefts, met_left, right, rights, met_right,
                   cells, rows, columns, log_alpha, alpha)  # fmt: skip
        put_type(i, new, 1, values, frequency, types, tokens, by_value)
        for a in range(met_left):
            totals[lefts[a]] += left[lefts[a]]
        totals[new] += followed
        forget(left, lefts, met_left)
        forget(right, rights, met_right)
        if new != old:
            changes += 1
            tags[i] = extended[i] = new
            for tag in (old, new):
                renew_features(i, tag, values, by_value, value_logs, log_beta, level)
    return changes


@kernel
def _margins(corpus, chain, setting, wanted, out):
    """How far a type's own tag stands above its best other one; infinitely where there is none."""
    desk, scores = desk_of(corpus, chain, setting), np.empty((_PORTION, chain.types.shape[0]))
    for first in range(0, wanted.shape[0], _PORTION):
        portion = wanted[first : first + _PORTION]
        score_batch(corpus, chain, setting, desk, portion, scores)
        for place in range(portion.shape[0]):
            tag, score = desk.extended[portion[place]], scores[place]
            height, score[tag] = score[tag], -np.inf
            out[first + place] = height - score.max()


@kernel
def _sweep_exact(corpus, chains, settings, order, draws, changes, first, last):
    for r in range(first, last):
        changes[r] = _walk_exact(corpus, chain_of(chains, r), setting_of(settings, r), order[r], draws[r])


@kernel
def _sweep_tokens(corpus, chains, settings, order, draws, changes, first, last):
    for r in range(first, last):
        changes[r] = _walk_tokens(corpus, chain_of(chains, r), setting_of(settings, r), order[r], draws[r])


@kernel
def _all_margins(corpus, chains, settings, wanted, out, first, last):
    for r in range(first, last):
        _margins(corpus, chain_of(chains, r), setting_of(settings, r), wanted, out[r])
