"""Sweeps in plain torch: one type after the other, all its tags scored at once, written like the equations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.log_rise import log_rise
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures, Visits


@dataclass(frozen=True)
class Neighbours:
    """The tokens of one type: left (K+1,) and right (K+1,) int64 by tag of another type beside them (K: the edge of a
    sentence), own: bigrams of the type with itself, tokens: how many."""

    left: Tensor
    right: Tensor
    own: Tensor
    tokens: Tensor


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
    changes = torch.zeros(len(tags), dtype=torch.int64, device=tags.device)
    scorer = exact_scores if sampler == "exact" else token_scores
    repeat = 2 if sampler == "clojure" else 1
    for r in range(len(tags)):
        chain = Counts(*(part[r] for part in counts))
        alpha, beta, level = hyper.alpha[r], hyper.beta[r], int(hyper.level[r])
        for i in visits.order[r].tolist():
            near = neighbours(contexts, tags[r], i, chain.types.numel())
            old = int(tags[r, i])
            move(chain, features.values[i], near, old, -1, repeat)
            score = scorer(chain, near, alpha, repeat) + type_scores(
                chain, features.values[i], features.num_values, beta, level
            )
            new = draw(score / visits.temperature, visits.draws[r, i])
            move(chain, features.values[i], near, new, 1, repeat)
            tags[r, i] = new
            changes[r] += new != old
    return changes


def neighbours(contexts: TypeContexts, tags: Tensor, i: int, num_tags: int) -> Neighbours:
    """L and R of type i under the tags (types,) of one chain."""
    extended = torch.cat([tags.long(), tags.new_full((1,), num_tags, dtype=torch.int64)])
    sides = []
    for start, other, number in (
        (contexts.left_start, contexts.left_type, contexts.left_count),
        (contexts.right_start, contexts.right_type, contexts.right_count),
    ):
        span = slice(int(start[i]), int(start[i + 1]))
        side = torch.zeros(num_tags + 1, dtype=torch.int64, device=tags.device)
        sides.append(side.index_add_(0, extended[other[span].long()], number[span].long()))
    return Neighbours(sides[0], sides[1], contexts.own[i], contexts.tokens[i])


def move(counts: Counts, values: Tensor, near: Neighbours, tag: int, sign: int, repeat: int) -> None:
    """Put a type's counts in (sign 1) or take them out (-1), in place, for one chain.

    With `repeat` 2 a bigram of the type with itself counts from either side, as the Clojure program has it.
    """
    counts.transitions[:, tag] += sign * near.left
    counts.transitions[tag, :] += sign * near.right
    counts.transitions[tag, tag] += sign * repeat * near.own
    counts.types[tag] += sign
    counts.tokens[tag] += sign * near.tokens
    counts.features[values.long(), tag] += sign


def exact_scores(counts: Counts, near: Neighbours, alpha: Tensor, repeat: int = 1) -> Tensor:
    """(K,) float64: the token part of log P(T_i = t | rest), up to a constant; counts without type i.

    All tokens of the type move together: every factor is a ratio of Dirichlet-multinomials, so a rising factorial.
    """
    k = counts.types.numel()
    cells, n = counts.transitions + alpha, near.tokens
    left, right = near.left, near.right
    at = torch.arange(k, device=left.device)
    other = ~torch.eye(k + 1, dtype=torch.bool, device=left.device)[:, :k]
    into = torch.where(other, log_rise(cells[:, :k], left[:, None]), 0.0).sum(0)
    out_of = torch.where(other, log_rise(cells[:k].t(), right[:, None]), 0.0).sum(0)
    itself = log_rise(cells[at, at], left[:k] + right[:k] + near.own)
    totals = counts.transitions[:k].sum(1) + (k + 1) * alpha + left[:k]
    row = log_rise(totals, right.sum() + near.own)
    return emission(counts, alpha, n) + into + out_of + itself - row


def emission(counts: Counts, alpha: Tensor, n: Tensor) -> Tensor:
    """(K,): the tag emits n tokens of one more word; an empty tag has no normaliser before."""
    s, tokens = counts.types, counts.tokens
    before = torch.where(s > 0, log_rise(s.clamp(min=1) * alpha, tokens), 0.0)
    return before - log_rise((s + 1) * alpha, tokens + n)


def token_scores(counts: Counts, near: Neighbours, alpha: Tensor, repeat: int) -> Tensor:
    """(K,): the published approximation (`paper`): tokens independent of each other given the frozen counts.

    Section 4 of the paper, with i taken out of all counts and t_b, t_a the tags before and after each of its tokens:

        P(t^(i) | T_i = t, ...) ∝ Π_(t_b, t_a) P(w | t) P(t | t_b) P(t_a | t)

        P(w | t) = α / (N_t + (S_t + 1)α)    P(u | s) = (C_su + α) / (C_s· + Kα)

    Its transitions are Dirichlet(α, K) (section 3): the end of a sentence is no outcome. The last token of a sentence
    has no t_a and C_s· does not count it, unlike in the model that `exact` samples, where rows have K + 1 outcomes.
    With the end as an outcome many-to-one is some .03 higher on CoNLL-2000. In which order types are visited the paper
    does not say; here in a new one every sweep.

    With `repeat` 2 (`clojure`) the end is an outcome, as in that program, and a bigram of the type with itself is
    scored from either side, its row's total too.
    """
    k = counts.types.numel()
    outcomes = k + 1 if repeat == 2 else k
    cells, right = counts.transitions[:, :outcomes], near.right[:outcomes]
    logs, totals = (cells + alpha).log(), (cells[:k].sum(1) + outcomes * alpha).log()
    n, at = near.tokens, torch.arange(k, device=logs.device)
    into = (logs[:, :k] * near.left[:, None]).sum(0)
    out_of = (logs[:k] * right).sum(1)
    itself = logs[at, at] * (repeat * near.own)
    row = totals * (right.sum() + repeat * near.own)
    words = n * (alpha.log() - (counts.tokens + (counts.types + 1) * alpha).log())
    return into + out_of + itself - row + words


def type_scores(counts: Counts, values: Tensor, num_values: Tensor, beta: Tensor, level: int) -> Tensor:
    """(K,): tag prior and type features, from counts without the type."""
    s = counts.types.to(torch.float64)
    if level == 0:
        return torch.zeros_like(s)
    score = (s + beta).log()
    if level == 1:
        return score
    seen = (counts.features[values.long()] + beta).log()  # (templates, K)
    return score + (seen - (s + beta * num_values[:, None]).log()).sum(0)


def draw(score: Tensor, uniform: Tensor) -> int:
    """The tag where the running sum of exp(score - max) first passes `uniform` of the total."""
    weight = (score - score.max()).exp()
    running = weight.cpu().cumsum(0)  # on a GPU its rounding would not be fixed
    return min(int((running <= float(uniform) * running[-1]).sum()), score.numel() - 1)
