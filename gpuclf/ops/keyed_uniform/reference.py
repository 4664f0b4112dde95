"""`keyed_uniform` in plain torch."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64, uniform


def keyed_uniform(keys: Tensor, width: int) -> Tensor:
    """See gpuclf.ops.keyed_uniform."""
    return uniform(hash64(keys[..., None], torch.arange(width, device=keys.device)))
