"""Inner products and combinations in plain torch, on any device."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def replica_dots(pairs: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    return torch.stack([(u.double() * v.double()).sum((0, 2)) for u, v in pairs])


def replica_combination(factors: Tensor, vectors: Sequence[Tensor]) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    total = torch.zeros_like(vectors[0])
    for factor, vector in zip(factors.to(vectors[0].dtype), vectors, strict=True):
        total = total + factor[:, None] * vector
    return total
