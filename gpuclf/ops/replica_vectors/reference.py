"""Inner products and combinations in plain torch, on any device."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def replica_dots(pairs: Sequence[tuple[Tensor, ...]]) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    return torch.stack([torch.stack([vector.double() for vector in pair]).prod(0).sum((0, 2)) for pair in pairs])


def replica_combination(
    factors: Tensor, vectors: Sequence[Tensor], scale: Tensor | None, scaled: int, out: Tensor | None
) -> Tensor:
    """See `gpuclf.ops.replica_vectors`."""
    total = torch.zeros_like(vectors[0])
    for p, (factor, vector) in enumerate(zip(factors.to(vectors[0].dtype), vectors, strict=True)):
        if p == scaled and scale is not None:
            total = total * scale
        total = total + factor[:, None] * vector
    if scale is not None and scaled == len(vectors):
        total = total * scale
    return total if out is None else out.copy_(total)
