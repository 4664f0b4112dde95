"""Forward-backward and its maximum in plain torch, in log space and float64: place by place, all sentences at once."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpuclf.ops.chain_sums.records import ChainSums

_CELLS = 1 << 22  # cells (tokens, R, K, K) of expected transitions in work at once

Reduce = Callable[[Tensor, int], Tensor]


def chain_sums(nodes: Tensor, starts: Tensor, transition: Tensor, weights: Tensor) -> ChainSums:
    """See the package."""
    lengths = starts.diff()
    sentence = torch.repeat_interleave(torch.arange(lengths.numel(), device=nodes.device), lengths)
    weight = weights[sentence]
    scores = nodes.to(torch.float64).masked_fill((weight == 0)[:, :, None], 0.0)
    alpha, beta = _walks(scores, starts, transition, torch.logsumexp)
    filled = torch.nonzero(lengths > 0).flatten()
    log_norm = torch.zeros_like(weights)
    log_norm[filled] = torch.logsumexp(alpha[starts[1:][filled] - 1], dim=2)
    possible = (log_norm > -torch.inf) & (weights > 0)
    log_norm = log_norm.masked_fill(weights == 0, 0.0)
    norm = torch.where(possible, log_norm, torch.inf)[sentence]  # exp(-inf): no probability where there is none
    probability = torch.exp(alpha + beta - norm[:, :, None]) * weight[:, :, None]
    later = torch.ones_like(sentence, dtype=torch.bool)  # tokens with one before them
    later[starts[:-1][filled]] = False
    pairs = torch.zeros_like(transition)
    step = max(1, _CELLS // max(1, transition.numel()))
    for at in torch.nonzero(later).flatten().split(step):
        into = (scores + beta)[at][:, :, None, :] + transition
        share = torch.exp(alpha[at - 1][:, :, :, None] + into - norm[at][:, :, None, None])
        pairs += (share * weight[at][:, :, None, None]).sum(0)
    return ChainSums(log_norm, probability.to(nodes.dtype), pairs)


def best_scores(nodes: Tensor, starts: Tensor, transition: Tensor) -> Tensor:
    """See the package."""
    alpha, beta = _walks(nodes.to(torch.float64), starts, transition, torch.amax)
    return alpha + beta


def _walks(scores: Tensor, starts: Tensor, transition: Tensor, reduce: Reduce) -> tuple[Tensor, Tensor]:
    """What comes before each label of a token, its own score included, and what comes after it: (tokens, R, K) each."""
    alpha, beta = scores.clone(), torch.zeros_like(scores)
    begin, lengths = starts[:-1], starts.diff()
    longest = int(lengths.max()) if lengths.numel() else 0
    for place in range(1, longest):
        at = begin[lengths > place] + place
        alpha[at] += reduce(alpha[at - 1][:, :, :, None] + transition, 2)
    for place in range(longest - 2, -1, -1):
        at = begin[lengths > place + 1] + place
        beta[at] = reduce(transition + (scores + beta)[at + 1][:, :, None, :], 3)
    return alpha, beta
