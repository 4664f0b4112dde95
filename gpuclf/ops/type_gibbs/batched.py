"""Many types scored at once against the same counts: as plain tensor operations on any device, on a CPU by a kernel.

A type's own counts are taken out exactly; what the other types of the batch do meanwhile is not seen. The most frequent
types, which move the counts most, are visited one by one first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.joint import log_joint
from gpuclf.ops.type_gibbs.log_rise import log_rise
from gpuclf.ops.type_gibbs.randomness import acceptance_draws
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures, Visits

KERNELS = {"cpu": "cpu_batches"}  # device type -> module here; other devices run the tensor operations below

_CELLS = 1 << 23  # float64 numbers that a step may hold at once: 64 MiB


@dataclass(frozen=True)
class BatchPlan:
    """How a batched sweep cuts the types: the `head` most frequent ones by themselves, the others `size` at a time;
    with `correct`, a batch is accepted or refused as one (Metropolis & Hastings)."""

    size: int
    head: int
    correct: bool = False


def batched_sweep(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    plan: BatchPlan,
    seed: Tensor,
    step: int,
) -> tuple[Tensor, Tensor]:
    """A sweep over all types of visits.order, in place: changed tags (R,) int64, share of accepted batches (R,).

    The head is visited in the order of the sweep, then the tail, cut into batches in that order. With plan.correct the
    tags of a batch are a proposal, accepted with probability
    min(1, P(new)^(1/T) q(old | new) / (P(old)^(1/T) q(new | old))), so that the chain's target is exact for every batch
    size; a large batch is then often refused. seed (R,) and step decide the draws of the acceptance.
    """
    parts = _head_and_tail(contexts, visits.order, plan.head)
    changes = torch.zeros(len(tags), dtype=torch.int64, device=tags.device)
    if parts[0].shape[1]:
        kernel = import_module("gpuclf.ops.type_gibbs")
        changes += kernel.sweep(contexts, features, tags, counts, hyper, replace(visits, order=parts[0]))
    batches = -(-parts[1].shape[1] // plan.size)
    if not batches:
        return changes, torch.ones(len(tags), dtype=torch.float64, device=tags.device)
    acceptance = acceptance_draws(seed, step, batches) if plan.correct else None
    module, tail = KERNELS.get(tags.device.type), replace(visits, order=parts[1])
    walk = sweep_batches if module is None else import_module(f"gpuclf.ops.type_gibbs.{module}").sweep_batches
    moved, accepted = walk(contexts, features, tags, counts, hyper, tail, plan.size, acceptance)
    return changes + moved, accepted / batches


def sweep_batches(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    size: int,
    acceptance: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The types of visits.order, `size` at a time, in place: changed tags and accepted batches, both (R,) int64.

    acceptance (R, batches): uniform draws that decide whether a batch is accepted; None: every one is.
    """
    changes, accepted = (torch.zeros(len(tags), dtype=torch.int64, device=tags.device) for _ in range(2))
    for number, types in enumerate(visits.order.split(size, 1) if visits.order.shape[1] else ()):
        uniform = None if acceptance is None else acceptance[:, number]
        moved, taken = _step(contexts, features, tags, counts, hyper, visits, types, uniform)
        changes += moved
        accepted += taken
    return changes, accepted


def _head_and_tail(contexts: TypeContexts, order: Tensor, head: int) -> tuple[Tensor, Tensor]:
    """The types of each order (R, visits) that are among the `head` most frequent of all, and the others."""
    by_frequency = torch.argsort(contexts.tokens, descending=True, stable=True)
    frequent = torch.zeros(contexts.num_types, dtype=torch.bool, device=order.device)
    frequent[by_frequency[:head]] = True
    chosen = frequent[order]
    count = int(chosen[0].sum()) if len(order) else 0
    return order[chosen].view(len(order), count), order[~chosen].view(len(order), order.shape[1] - count)


def _step(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    types: Tensor,
    acceptance: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """One batch types (R, B): changed tags (R,) and whether it was accepted (R,)."""
    old = tags.gather(1, types)
    score = batch_scores(contexts, features, tags, counts, hyper, types) / visits.temperature
    new = _draw(score, visits.draws.gather(1, types))
    before = None if acceptance is None else log_joint(contexts, features, counts, hyper)
    _replace(contexts, features, tags, counts, types, new)
    accepted = torch.ones(len(tags), dtype=torch.bool, device=tags.device)
    if before is not None and acceptance is not None:
        back = batch_scores(contexts, features, tags, counts, hyper, types) / visits.temperature
        gain = (log_joint(contexts, features, counts, hyper) - before) / visits.temperature
        ratio = gain + _log_share(back, old).sum(1) - _log_share(score, new).sum(1)
        accepted = acceptance.log() < ratio
        _replace(contexts, features, tags, counts, types, torch.where(accepted[:, None], new, old))
    return ((new != old) & accepted[:, None]).sum(1), accepted


def batch_scores(
    contexts: TypeContexts, features: TypeFeatures, tags: Tensor, counts: Counts, hyper: Hyper, types: Tensor
) -> Tensor:
    """log P(T_i = t | all other tags) up to a constant, (R, B, K) float64, of types (R, B); counts belong to tags."""
    k = counts.num_tags
    each = max(1, _CELLS // max(1, types.shape[1] * k * 16))
    parts = []
    for first in range(0, len(tags), each):
        some = slice(first, first + each)
        chains = Counts(*(part[some] for part in counts))
        parts.append(_scores(contexts, features, tags[some], chains, hyper.take(some), types[some]))
    return torch.cat(parts) if parts else torch.zeros((0, types.shape[1], k), dtype=torch.float64, device=tags.device)


def _scores(
    contexts: TypeContexts, features: TypeFeatures, tags: Tensor, counts: Counts, hyper: Hyper, types: Tensor
) -> Tensor:
    k, chains = counts.num_tags, len(tags)
    alpha, beta, level = (part[:, None, None] for part in (hyper.alpha, hyper.beta, hyper.level))
    tag = torch.arange(k, device=tags.device)
    mine = tag == tags.gather(1, types)[..., None]  # (R, B, K): the tag that the type is in now
    n, own = contexts.tokens[types][..., None], contexts.own[types][..., None]
    left = _by_tag(contexts.left_start, contexts.left_type, contexts.left_count, tags, types, k)
    right = _by_tag(contexts.right_start, contexts.right_type, contexts.right_count, tags, types, k)

    size = counts.types[:, None] - mine.long()
    tokens = counts.tokens[:, None] - mine * n
    before = log_rise(size.clamp(min=1) * alpha, tokens)  # an empty tag has no tokens: 0
    score = before - log_rise((size + 1) * alpha, tokens + n) - log_rise((k + 1) * alpha + tokens, n)

    cells = counts.transitions
    score = score + _rises(cells, left, right, mine, own, alpha)
    score = score + _rises(cells.transpose(1, 2), right, left, mine, own, alpha)
    diagonal = cells.diagonal(dim1=1, dim2=2)[:, None, :k] - mine * (left[..., :k] + right[..., :k] + own) + alpha
    meeting = log_rise(diagonal, left[..., :k] + right[..., :k] + own)
    score = score + (meeting - log_rise(diagonal, left[..., :k]) - log_rise(diagonal, right[..., :k]))

    values = features.values.long()[types]  # (R, B, templates)
    chain = torch.arange(chains, device=tags.device)[:, None]
    of_features = torch.zeros_like(score)
    for f in range(values.shape[2]):
        seen = counts.features[chain, values[..., f]] - mine.to(torch.int32)
        of_features = of_features + ((seen + beta) / (size + beta * features.num_values[f])).log()
    prior = (size + beta).log()
    return score + torch.where(level > 0, prior, 0.0) + torch.where(level == 2, of_features, 0.0)


def _by_tag(start: Tensor, other: Tensor, number: Tensor, tags: Tensor, types: Tensor, k: int) -> Tensor:
    """Neighbours on one side by tag, (R, B, K+1) int64."""
    query, entry = _entries(start, types)
    beside = _extended(tags, k)[query // types.shape[1], other[entry].long()]
    seen = torch.zeros(types.numel() * (k + 1), dtype=torch.int64, device=tags.device)
    return seen.index_add_(0, query * (k + 1) + beside, number[entry].long()).view(*types.shape, k + 1)


def _entries(start: Tensor, types: Tensor) -> tuple[Tensor, Tensor]:
    """CSR entries of all types (R, B), one after the other: which of the types (flat), and which entry."""
    flat = types.flatten()
    lengths = start[flat + 1] - start[flat]
    query = torch.repeat_interleave(torch.arange(flat.numel(), device=types.device), lengths)
    first = lengths.cumsum(0) - lengths
    return query, torch.arange(query.numel(), device=types.device) - first[query] + start[flat][query]


def _extended(tags: Tensor, k: int) -> Tensor:
    """Tags with one place more, K: the edge of a sentence."""
    return torch.cat([tags.long(), tags.new_full((len(tags), 1), k, dtype=torch.int64)], 1)


def _rises(cells: Tensor, near: Tensor, far: Tensor, mine: Tensor, own: Tensor, alpha: Tensor) -> Tensor:
    """Σ_s rise(C_st + alpha, near_s) for all t, (R, B, K), over the tags s that were met; own counts taken out.

    near and far (R, B, K+1): neighbours on this side and on the other; cells[r, s, t] counts this side's tag s first.
    """
    chains, batch, k = mine.shape
    query, s = near.view(-1, k + 1).nonzero(as_tuple=True)
    number = near.view(-1, k + 1)[query, s][:, None]
    r = query // batch
    here = mine.reshape(-1, k)[query]  # column t is the type's own tag
    there = (s[:, None] == torch.arange(k, device=s.device)) & here  # and so is s
    row = here.any(1) & (here.long().argmax(1) == s)  # s is the type's own tag
    without = here * number + row[:, None] * far.view(-1, k + 1)[query, :k] + there * own.view(-1, 1)[query]
    rises = log_rise(cells[r, s, :k] - without + alpha[r, 0], number)
    lengths = torch.bincount(query, minlength=chains * batch)
    sums = torch.segment_reduce(rises, "sum", lengths=lengths, axis=0, unsafe=True)
    return sums.view(chains, batch, k)


def _draw(score: Tensor, uniform: Tensor) -> Tensor:
    """Tags (R, B) int32 where the running sum of exp(score - max) first passes `uniform` of the total."""
    weight = (score - score.amax(2, keepdim=True)).exp()
    running, sums = torch.zeros_like(uniform), []
    for t in range(score.shape[2]):  # in the order of the walks, on every device
        running = running + weight[..., t]
        sums.append(running)
    passed = torch.stack(sums, 2) <= (uniform * running)[..., None]
    return passed.sum(2).clamp(max=score.shape[2] - 1).to(torch.int32)


def _log_share(score: Tensor, chosen: Tensor) -> Tensor:
    """log of the probability with which each chosen tag is drawn, (R, B)."""
    return score.log_softmax(2).gather(2, chosen[..., None].long())[..., 0]


def _replace(
    contexts: TypeContexts, features: TypeFeatures, tags: Tensor, counts: Counts, types: Tensor, new: Tensor
) -> None:
    """Give the types (R, B) new tags, and the counts what follows from it, in place."""
    inside = torch.zeros(tags.shape, dtype=torch.bool, device=tags.device).scatter_(1, types, True)
    for sign in (-1, 1):
        if sign == 1:
            tags.scatter_(1, types, new.to(tags.dtype))
        _add(contexts, features, tags, counts, types, inside, sign)


def _add(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    types: Tensor,
    inside: Tensor,
    sign: int,
) -> None:
    """Add (sign 1) or take away (-1) all counts of the types; a bigram of two of them counts once."""
    k, (chains, batch) = counts.num_tags, types.shape
    side, extended = k + 1, _extended(tags, k)
    tag = tags.gather(1, types).long()
    chain = torch.arange(chains, device=tags.device)[:, None]
    cells, numbers = [(chain * side + tag) * side + tag], [contexts.own[types]]
    query, entry = _entries(contexts.right_start, types)
    r, after = query // batch, contexts.right_type[entry].long()
    cells.append((r * side + tag.flatten()[query]) * side + extended[r, after])
    numbers.append(contexts.right_count[entry].long())
    query, entry = _entries(contexts.left_start, types)
    r, before = query // batch, contexts.left_type[entry].long()
    counted = torch.cat([inside, inside.new_zeros((chains, 1))], 1)[r, before]  # from the other word's right side
    cells.append((r * side + extended[r, before]) * side + tag.flatten()[query])
    numbers.append(torch.where(counted, 0, contexts.left_count[entry].long()))
    _add_at(
        counts.transitions, torch.cat([c.flatten() for c in cells]), torch.cat([n.flatten() for n in numbers]), sign
    )
    place = (chain * k + tag).flatten()
    _add_at(counts.types, place, torch.ones_like(place), sign)
    _add_at(counts.tokens, place, contexts.tokens[types].flatten(), sign)
    values = features.values.long()[types]
    place = ((chain[..., None] * counts.features.shape[1] + values) * k + tag[..., None]).flatten()
    _add_at(counts.features, place, torch.ones_like(place, dtype=torch.int32), sign)


def _add_at(table: Tensor, place: Tensor, number: Tensor, sign: int) -> None:
    table.view(-1).index_add_(0, place, number, alpha=sign)
