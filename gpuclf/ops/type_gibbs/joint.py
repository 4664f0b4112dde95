"""The log joint of tags and words, all distributions integrated out: the trace of a chain and the oracle of tests."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.log_rise import log_rise
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures

_CELLS = 1 << 22  # counts that are sorted into a histogram at once


def log_joint(contexts: TypeContexts, features: TypeFeatures, counts: Counts, hyper: Hyper) -> Tensor:
    """(R,) float64: log P(tags, words | alpha, beta) of Lee, Haghighi & Barzilay 2010 from counts that belong to tags.

    Every part is a Dirichlet-multinomial, Σ rise(a, count) - rise(sum of a, total). A uniform prior of level 1tw counts
    as -types · log K, so that levels can be compared.
    """
    return token_part(contexts, counts, hyper.alpha) + type_part(features, counts, hyper.beta, hyper.level)


def token_part(contexts: TypeContexts, counts: Counts, alpha: Tensor) -> Tensor:
    """Transitions and emissions (R,): all that depends on alpha."""
    a, side = alpha[:, None], counts.num_tags + 1
    rows = -log_rise(side * a, counts.transitions.sum(2)).sum(1)
    cells = log_rise(a[:, :, None], counts.transitions).sum((1, 2))
    # an empty tag has S = N = 0: its normaliser is left out, rise(·, 0) = 0
    normalisers = -log_rise(counts.types.clamp(min=1) * a, counts.tokens).sum(1)
    frequency, types = torch.unique(contexts.tokens, return_counts=True)
    words = (log_rise(a, frequency) * types).sum(1)
    return rows + cells + normalisers + words


def type_part(features: TypeFeatures, counts: Counts, beta: Tensor, level: Tensor) -> Tensor:
    """Tag prior and features (R,): all that depends on beta."""
    b, tags, types = beta[:, None], counts.num_tags, counts.types.sum(1)
    uniform = -types * torch.log(torch.tensor(float(tags), dtype=torch.float64, device=b.device))
    prior = log_rise(b, counts.types).sum(1) - log_rise(tags * beta, types)
    most = features.values.shape[0] + 1  # the same for a chain alone and in a batch, and so the rounding of its sum
    cells = (_histogram(counts.features, most) * log_rise(b, torch.arange(most, device=b.device))).sum(1)
    totals = log_rise(features.num_values[:, None] * b[..., None], counts.types[:, None]).sum((1, 2))
    return torch.where(level == 0, uniform, prior + torch.where(level == 2, cells - totals, 0.0))


def _histogram(table: Tensor, most: int) -> Tensor:
    """How many cells of each chain's table hold 0, 1, …, most - 1: (R, most) int64. A feature count is small."""
    each = max(1, _CELLS // max(1, table[0].numel())) if len(table) else 1
    parts = []
    for part in table.split(each):
        first = torch.arange(len(part), device=table.device)[:, None] * most
        cells = torch.bincount((part.flatten(1) + first).flatten(), minlength=len(part) * most)
        parts.append(cells.view(len(part), most))
    return torch.cat(parts)
