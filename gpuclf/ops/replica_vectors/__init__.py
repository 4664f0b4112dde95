"""Vectors of many replicas: inner products and linear combinations with one result or one factor a replica."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from torch import Tensor

__all__ = ["replica_combination", "replica_dots"]

KERNELS = {"cpu": "cpu"}  # device type -> module here; a device that is not listed runs the reference


def replica_dots(pairs: Sequence[tuple[Tensor, ...]]) -> Tensor:
    """Σ over m and k of u[m, r, k] v[m, r, k] in float64 for every pair (u, v), of u v w for (u, v, w): (pairs, R).

    Each tensor (M, R, K) contiguous, float32 or float64; M may differ from pair to pair. On the CPU, rows are added in
    order by blocks of one size, so that rows of zeros at the end change no bit, and a replica's bits depend on no other
    replica.
    """
    assert pairs
    kernel = import_module(f"{__name__}.{KERNELS.get(pairs[0][0].device.type, 'reference')}")
    dots: Tensor = kernel.replica_dots(pairs)
    return dots


def replica_combination(
    factors: Tensor,
    vectors: Sequence[Tensor],
    scale: Tensor | None = None,
    scaled: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """Σ over p of factors[p, r] · vectors[p][m, r, k], in the order of p: (M, R, K) in the vectors' type.

    factors (P, R) float64, applied in the vectors' type; vectors (M, R, K) contiguous, at least one. With `scale`, a
    vector, the sum of the first `scaled` ≥ 1 vectors is multiplied by it, cell by cell, before the others are added.
    out is what is filled and returned; it may be one of the vectors.
    """
    assert len(vectors) == factors.shape[0] > 0
    assert scale is None or scaled > 0
    assert all(vector.dtype == vectors[0].dtype for vector in vectors)
    kernel = import_module(f"{__name__}.{KERNELS.get(vectors[0].device.type, 'reference')}")
    total: Tensor = kernel.replica_combination(factors, vectors, scale, scaled, out)
    return total
