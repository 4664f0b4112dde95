"""Vectors of many replicas: inner products and linear combinations with one result or one factor a replica."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from torch import Tensor

__all__ = ["replica_combination", "replica_dots"]

KERNELS = {"cpu": "cpu"}  # device type -> module here; a device that is not listed runs the reference


def replica_dots(pairs: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Σ over m and k of u[m, r, k] v[m, r, k] in float64 for every pair (u, v): (pairs, R).

    Each tensor (M, R, K) contiguous, float32 or float64; M may differ from pair to pair. On the CPU, rows are added in
    order, so that rows of zeros change no bit, and a replica's bits depend on no other replica.
    """
    assert pairs
    kernel = import_module(f"{__name__}.{KERNELS.get(pairs[0][0].device.type, 'reference')}")
    dots: Tensor = kernel.replica_dots(pairs)
    return dots


def replica_combination(factors: Tensor, vectors: Sequence[Tensor]) -> Tensor:
    """Σ over p of factors[p, r] · vectors[p][m, r, k], in the order of p: (M, R, K) in the vectors' type.

    factors (P, R) float64, applied in the vectors' type; vectors (M, R, K) contiguous, at least one.
    """
    assert len(vectors) == factors.shape[0] > 0
    kernel = import_module(f"{__name__}.{KERNELS.get(vectors[0].device.type, 'reference')}")
    total: Tensor = kernel.replica_combination(factors, vectors)
    return total
