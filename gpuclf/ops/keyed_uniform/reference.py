"""`keyed_uniform` in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64, uniform


def keyed_uniform(keys: Tensor, width: int) -> Tensor:
    """See gpuclf.ops.keyed_uniform."""
    return uniform(hash64(keys[..., None], torch.arange(width, device=keys.device)))


def keyed_factors(keys: Tensor, width: int, drop: Tensor, dtype: torch.dtype) -> Tensor:
    """See gpuclf.ops.keyed_uniform."""
    below = drop.view(-1, *[1] * keys.dim())
    return torch.where(keyed_uniform(keys, width) < below, 0.0, 1.0 / (1.0 - below)).to(dtype)
