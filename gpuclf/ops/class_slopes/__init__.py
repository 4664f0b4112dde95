"""Slopes of the multi-class log loss by every class's score, in whole numbers, and a sample of them."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["class_slopes"]


def class_slopes(
    scores: Tensor, labels: Tensor, rows: Tensor, weights: Tensor | None, sampling: float, draw: Tensor, unit: float
) -> tuple[Tensor, Tensor]:
    """Gradient and curvature (K, docs) int32 at `rows` (n,) int64, 0 elsewhere: p - y and p (1 - p) in `unit`ths, times
    the rows' weights (n,) float64.

    scores (docs, K) float64; labels (docs,) int64. sampling above 0: a row keeps a class's pair with probability
    q = |p - y| / sampling, 1 at most, and then has 1/q of it (importance sampling; after Ibragimov & Gusev 2019,
    Minimal variance sampling in stochastic gradient boosting); else both are 0. The draw of class k is hash64(…, k),
    where `draw` (n,) int64 is hash64(…). Kernels may differ by a few units, as exponentials do.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(scores.device.type, 'reference')}")
    found: tuple[Tensor, Tensor] = kernel.class_slopes(scores, labels, rows, weights, sampling, draw, unit)
    return found
