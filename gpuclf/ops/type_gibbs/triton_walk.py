"""One Triton program per chain walks all its types, with the transition counts of the chain in registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures, Visits

_ENTRIES = 32  # neighbours read at once


def sweep(
    contexts: TypeContexts, features: TypeFeatures, tags: Tensor, counts: Counts, hyper: Hyper, visits: Visits
) -> Tensor:
    """See the package: sampler exact. K + 1 is padded to a power of two."""
    chains, types = tags.shape
    changes = torch.zeros(chains, dtype=torch.int64, device=tags.device)
    side = triton.next_power_of_2(counts.num_tags + 1)
    sharpness = torch.full((1,), 1.0 / visits.temperature, dtype=torch.float64, device=tags.device)  # not as float32
    if chains and visits.order.shape[1]:
        _walk_kernel[(chains,)](
            contexts.left_start, contexts.left_type, contexts.left_count,
            contexts.right_start, contexts.right_type, contexts.right_count,
            contexts.own, contexts.tokens, features.values, features.num_values,
            tags, counts.transitions, counts.types, counts.tokens, counts.features,
            hyper.alpha.contiguous(), hyper.beta.contiguous(), hyper.level.contiguous(),
            visits.order.contiguous(), visits.draws.contiguous(), changes,
            visits.order.shape[1], types, features.values.shape[1], counts.features.shape[1], counts.num_tags,
            sharpness,
            SIDE=side, ENTRIES=_ENTRIES, num_warps=max(1, min(16, side * side // 512)),
        )  # fmt: skip
    return changes


@triton.jit
def _log_rise(x, k, most):
    """`log_rise`, elementwise: x float64, k whole of the same shape and at most `most`, which decides what is run."""
    product = x * 0.0 + 1.0
    for j in range(0, tl.minimum(most, 8)):
        product = tl.where(j < k, product * (x + j), product)
    total = tl.log(product)
    if most > 8:
        low, more = x + 8.0, tl.maximum(k - 8, 0).to(tl.float64)
        high = low + more
        a, b = 1.0 / (low * low), 1.0 / (high * high)
        at_low = (1 / 12 - a * (1 / 360 - a * (1 / 1260 - a * (1 / 1680 - a * (1 / 1188))))) / low
        at_high = (1 / 12 - b * (1 / 360 - b * (1 / 1260 - b * (1 / 1680 - b * (1 / 1188))))) / high
        ratio = more / low
        # log1p by Kahan's trick: the rounding of 1 + ratio cancels in the quotient
        plus = 1.0 + ratio
        log1p = tl.where(plus == 1.0, ratio, tl.log(plus) * (ratio / tl.where(plus == 1.0, 1.0, plus - 1.0)))
        total += (low - 0.5) * log1p + more * tl.log(high) - more + (at_high - at_low)
    return total


@triton.jit
def _by_tag(start, other, number, i, tags, types, k, tag, ENTRIES: tl.constexpr):
    """Neighbours of type i on one side by tag, int64 like `tag`; the edge of a sentence is tag k."""
    first, last = tl.load(start + i), tl.load(start + i + 1)
    seen = tag * 0
    lane = tl.arange(0, ENTRIES)
    for begin in range(first, last, ENTRIES):
        at = begin + lane
        inside = at < last
        beside = tl.load(other + at, mask=inside, other=0)
        count = tl.load(number + at, mask=inside, other=0).to(tl.int64)
        its = tl.load(tags + beside, mask=inside & (beside < types), other=0).to(tl.int64)
        its = tl.where(beside < types, its, k)
        seen += tl.sum(tl.where(its[:, None] == tag[None, :], count[:, None], 0), axis=0)
    return seen


@triton.jit
def _log_scores(
    cells, size, tokens, left, right, own, n, here, alpha, beta, level,
    values, num_values, by_value, i, templates, k, tag, real,
):  # fmt: skip
    """log P(tag of type i | all others) up to a constant, of every tag, from counts that leave the type out."""
    side = k + 1
    diagonal = tag[:, None] == tag[None, :]
    s = size.to(tl.float64)
    count = tag * 0 + n
    before = tl.where(size > 0, _log_rise(tl.maximum(s, 1.0) * alpha, tokens, 9), 0.0)
    score = before - _log_rise((s + 1.0) * alpha, tokens + n, 9)
    score -= _log_rise(side * alpha + tokens.to(tl.float64), count, n)
    x = cells.to(tl.float64) + alpha
    into = _log_rise(x, tl.where(diagonal, 0, left[:, None]), tl.max(left, axis=0))
    out_of = _log_rise(x, tl.where(diagonal, 0, right[None, :]), tl.max(right, axis=0))
    meeting = tl.where(diagonal, left[:, None] + right[None, :] + own, 0)
    itself = _log_rise(x, meeting, tl.max(left + right, axis=0) + own)
    score += tl.sum(into + itself, axis=0) + tl.sum(out_of, axis=1)
    if level > 0:
        score += tl.log(s + beta)
    if level == 2:
        for f in range(templates):
            at = tl.load(values + i * templates + f).to(tl.int64) * k + tag
            seen = tl.load(by_value + at, mask=real, other=0) - here
            total = s + beta * tl.load(num_values + f).to(tl.float64)
            score += tl.log((seen.to(tl.float64) + beta) / total)
    return score


@triton.jit
def _walk_kernel(
    left_start, left_type, left_count, right_start, right_type, right_count,
    owns, frequency, values, num_values,
    all_tags, all_cells, all_types, all_tokens, all_by_value,
    alphas, betas, levels, orders, all_draws, changes,
    visits, types, templates, num_by_value, k, sharpness,
    SIDE: tl.constexpr, ENTRIES: tl.constexpr,
):  # fmt: skip
    chain = tl.program_id(0).to(tl.int64)
    side = k + 1
    tag = tl.arange(0, SIDE).to(tl.int64)
    real = tag < k
    tags = all_tags + chain * types
    by_value = all_by_value + chain * num_by_value * k
    sharp = tl.load(sharpness)
    alpha, beta, level = tl.load(alphas + chain), tl.load(betas + chain), tl.load(levels + chain)
    at_cell = (chain * side + tag[:, None]) * side + tag[None, :]
    in_table = (tag[:, None] < side) & (tag[None, :] < side)
    cells = tl.load(all_cells + at_cell, mask=in_table, other=0)
    size = tl.load(all_types + chain * k + tag, mask=real, other=0)
    tokens = tl.load(all_tokens + chain * k + tag, mask=real, other=0)
    changed = chain * 0
    for visit in range(visits):
        i = tl.load(orders + chain * visits + visit)
        n, own = tl.load(frequency + i), tl.load(owns + i)
        old = tl.load(tags + i).to(tl.int64)
        left = _by_tag(left_start, left_type, left_count, i, tags, types, k, tag, ENTRIES)
        right = _by_tag(right_start, right_type, right_count, i, tags, types, k, tag, ENTRIES)
        here = (tag == old).to(tl.int64)
        cells -= left[:, None] * here[None, :] + here[:, None] * right[None, :] + own * here[:, None] * here[None, :]
        size -= here
        tokens -= n * here

        score = _log_scores(
            cells, size, tokens, left, right, own, n, here, alpha, beta, level,
            values, num_values, by_value, i, templates, k, tag, real,
        )  # fmt: skip
        score = tl.where(real, score, -float("inf"))
        weight = tl.exp((score - tl.max(score, axis=0)) * sharp)
        running = tl.cumsum(weight, axis=0)
        goal = tl.load(all_draws + chain * types + i) * tl.sum(weight, axis=0)
        new = tl.minimum(tl.sum(((running <= goal) & real).to(tl.int64), axis=0), k - 1)

        there = (tag == new).to(tl.int64)
        cells += (
            left[:, None] * there[None, :] + there[:, None] * right[None, :] + own * there[:, None] * there[None, :]
        )
        size += there
        tokens += n * there
        if new != old:
            changed += 1
            tl.store(tags + i, new.to(tl.int32))
            for f in range(templates):
                at = tl.load(values + i * templates + f).to(tl.int64) * k + tag
                seen = tl.load(by_value + at, mask=real, other=0)
                tl.store(by_value + at, seen + (there - here).to(tl.int32), mask=real)
        tl.debug_barrier()  # the next type's neighbours may have this one's tag
    tl.store(all_cells + at_cell, cells, mask=in_table)
    tl.store(all_types + chain * k + tag, size, mask=real)
    tl.store(all_tokens + chain * k + tag, tokens, mask=real)
    tl.store(changes + chain, changed)
