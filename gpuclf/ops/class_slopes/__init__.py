"""Slopes of the multi-class log loss by every class's score, in whole numbers, and a sample of them."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.class_slopes.record import ClassSlopes

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["ClassSlopes", "class_slopes"]


def class_slopes(
    scores: Tensor,
    labels: Tensor,
    rows: Tensor,
    begin: Tensor,
    weights: Tensor | None,
    sampling: float,
    draw: Tensor,
    unit: float,
) -> ClassSlopes:
    """Sums over groups of rows.

    rows (n,) int64: group by group; begin (G + 1,) int64: where a group's rows stand there. A row's gradient and
    curvature are p - y and p (1 - p) in `unit`ths, rounded, times its weight (n,) float64, rounded; it has slopes where
    not both are 0. scores (docs, K) float64; labels (docs,) int64. sampling above 0: a row keeps a class's pair with
    probability q = |p - y| / sampling, 1 at most, and then has 1/q of it (importance sampling; after Ibragimov & Gusev
    2019, Minimal variance sampling in stochastic gradient boosting); else both are 0. The draw of class k is
    hash64(…, k), where `draw` (n,) int64 is hash64(…). Kernels may differ by a few units a row, as exponentials do.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(scores.device.type, 'reference')}")
    found: ClassSlopes = kernel.class_slopes(scores, labels, rows, begin, weights, sampling, draw, unit)
    return found
