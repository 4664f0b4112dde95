"""The order and the draws of a sweep: hashes of (seed, sweep, type), the same for a chain alone and in any batch."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64, uniform
from gpuclf.ops.type_gibbs.records import Visits

# What a draw is for: keeps streams of one seed apart.
_TAG, _START, _ACCEPT, _PARAMETER = 0x7461, 0x7374, 0x6163, 0x7061


def visits(seed: Tensor, sweep: int, num_types: int, temperature: float = 1.0) -> Visits:
    """All types in the order of (seed, sweep), with a draw each; seed (R,) int64."""
    types = torch.arange(num_types, device=seed.device)
    own, place = seed.unique(return_inverse=True)  # chains of one seed share its order
    order = torch.argsort(hash64(own[:, None], sweep, types), dim=1, stable=True)[place]
    return Visits(order, uniform(hash64(seed[:, None], _TAG, sweep, types)), temperature)


def random_tags(seed: Tensor, num_types: int, num_tags: int) -> Tensor:
    """Uniform tags (R, types) int32 to begin with."""
    types = torch.arange(num_types, device=seed.device)
    return (uniform(hash64(seed[:, None], _START, types)) * num_tags).to(torch.int32)


def acceptance_draws(seed: Tensor, sweep: int, batches: int) -> Tensor:
    """(R, batches) float64 in [0, 1): decide whether each batch's tags are accepted."""
    return uniform(hash64(seed[:, None], _ACCEPT, sweep, torch.arange(batches, device=seed.device)))


def parameter_draws(seed: Tensor, sweep: int, parameter: int, number: int) -> Tensor:
    """(R,) float64 in [0, 1): the number-th draw for a parameter of the chains after a sweep."""
    return uniform(hash64(seed, _PARAMETER, sweep, parameter, number))
