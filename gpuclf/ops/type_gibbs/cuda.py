"""Sweeps on CUDA: a Triton program walks each chain, with its transition counts in registers."""

from __future__ import annotations

from importlib.util import find_spec

from torch import Tensor

from gpuclf.ops.type_gibbs import reference
from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures, Visits


def sweep(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    sampler: str = "exact",
) -> Tensor:
    """See the package. Only the exact sampler has a kernel; the others are for comparison, and run the reference."""
    if sampler != "exact" or find_spec("triton") is None:  # torch for CUDA brings Triton on Linux, not everywhere
        return reference.sweep(contexts, features, tags, counts, hyper, visits, sampler)
    from gpuclf.ops.type_gibbs.triton_walk import sweep as walk

    return walk(contexts, features, tags, counts, hyper, visits)
