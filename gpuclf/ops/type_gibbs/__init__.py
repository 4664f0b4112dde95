"""Collapsed Gibbs sampling of one tag per word type (Lee, Haghighi & Barzilay 2010), for many chains at once.

`contexts_of` turns sentences into what a type's tokens stand beside, `count` counts an assignment of tags, `log_joint`
is what a chain climbs, `sweep` visits types one after the other, `batched_sweep` scores many of them at once.
"""

from __future__ import annotations

from importlib import import_module

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs.batched import BatchPlan, batch_scores, batched_sweep
from gpuclf.ops.type_gibbs.contexts import TypeContexts, contexts_of
from gpuclf.ops.type_gibbs.counting import count, double_counted
from gpuclf.ops.type_gibbs.joint import log_joint, token_part, type_part
from gpuclf.ops.type_gibbs.log_rise import log_rise
from gpuclf.ops.type_gibbs.randomness import parameter_draws, random_tags, visits
from gpuclf.ops.type_gibbs.records import LEVELS, SAMPLERS, Counts, Hyper, TypeFeatures, Visits, features_of

__all__ = [
    "LEVELS",
    "SAMPLERS",
    "BatchPlan",
    "Counts",
    "Hyper",
    "TypeContexts",
    "TypeFeatures",
    "Visits",
    "batch_scores",
    "batched_sweep",
    "contexts_of",
    "count",
    "double_counted",
    "features_of",
    "log_joint",
    "log_rise",
    "margins",
    "parameter_draws",
    "random_tags",
    "sweep",
    "token_part",
    "type_part",
    "visits",
]

KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type -> module here; other devices run the reference


def sweep(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    sampler: str = "exact",
) -> Tensor:
    """Draw a new tag for each type of visits.order, one after the other; how many changed, (R,) int64.

    tags (R, types) int32 and counts change in place. `exact`: from P(T_i = t | all other tags), all tokens of the type
    jointly. `paper`: the published approximation, its tokens independent given the counts without it, and transitions
    between tags only (reference.token_scores). `clojure`: tokens independent too, by the bookkeeping of the Clojure
    program of September 2010, for parity only: the end of a sentence is an outcome, a bigram is counted from either
    side (begin with `double_counted` counts), a move changes the count of the moving word's side only, and so the
    transition counts no longer belong to the tags.

    The draw of a type is visits.draws of that type: a chain is the same alone, in any batch, on any device and for any
    number of threads (up to rounding, when a draw falls on the border of two tags within some 1e-10).
    """
    assert sampler in SAMPLERS, sampler
    kernel = import_module(f"{__name__}.{KERNELS.get(tags.device.type, 'reference')}")
    changes: Tensor = kernel.sweep(contexts, features, tags, counts, hyper, visits, sampler)
    return changes


def margins(
    contexts: TypeContexts, features: TypeFeatures, tags: Tensor, counts: Counts, hyper: Hyper, types: Tensor
) -> Tensor:
    """log P(own tag | rest) - log P(best other tag | rest) of the types in `types` (int64): (R, len(types)) float64.

    Negative for a type that would rather be elsewhere; inf where there is a single tag. Counts must belong to the tags.
    """
    if tags.device.type == "cpu":
        cpu = import_module(f"{__name__}.cpu")
        found: Tensor = cpu.margins(contexts, features, tags, counts, hyper, types)
        return found
    parts = []
    for portion in types.split(1024):
        scores = batch_scores(contexts, features, tags, counts, hyper, portion.expand(len(tags), -1))
        own = tags[:, portion, None].long()
        rival = scores.scatter(2, own, -torch.inf).amax(2)
        parts.append(scores.gather(2, own)[..., 0] - rival)
    return torch.cat(parts, 1) if parts else torch.zeros((len(tags), 0), dtype=torch.float64, device=tags.device)
