"""Losses of class scores: value, score gradient and curvature, for many replicas at once."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

__all__ = ["CURVED", "KINDS", "class_loss", "loss_along", "loss_curvature", "loss_diagonal"]

KERNELS = {"cpu": "cpu"}  # device type -> module here; a device that is not listed runs the reference

# Of one document with scores s, class y, costs c[y, r] (0 for r = y), rival r = argmax over r ≠ y of s_r + c[y, r]
# (lowest index in ties) and violation h = max(0, s_r + c[y, r] - s_y):
# logistic: log Σ exp s - s_y (Eisenstein 2018, eq. 2.59); margin: h (2.45, Crammer & Singer 2001);
# perceptron: h with all costs 0 (2.41); squared_margin: Σ over r ≠ y of max(0, s_r + c[y, r] - s_y)², all rivals and
# not the highest alone, whose square would have a kink where two rivals are equally high.
KINDS = {"logistic": 0, "margin": 1, "squared_margin": 2, "perceptron": 3}
CURVED = frozenset({"logistic", "squared_margin"})  # with a second derivative, one-sided at the kink of the latter


def class_loss(
    kind: str, scores: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Σ over n of weights[n, r] · loss (R,) float64, and its gradient (docs, R, K) by the scores, in their type.

    scores (docs, R, K) contiguous float32 or float64; labels (docs,) int64; weights (docs, R) float64 ≥ 0, 0 leaves a
    document out (its label may then be -1); cost (K, K) float64, None for ones off the diagonal. Documents are added
    in their order, one that is left out changes no bit on the CPU.
    """
    value, gradient = _kernel(scores).class_loss(kind, scores, labels, weights, cost)
    return value, gradient


def loss_along(
    kind: str,
    scores: Tensor,
    direction: Tensor,
    step: Tensor,
    labels: Tensor,
    weights: Tensor,
    cost: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Value and derivative by t, each (R,) float64, of the summed loss at scores + t · direction, t = step (R,)."""
    value, slope = _kernel(scores).loss_along(kind, scores, direction, step, labels, weights, cost)
    return value, slope


def loss_curvature(
    kind: str, scores: Tensor, direction: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None
) -> Tensor:
    """The second derivative of the summed loss by the scores, times `direction`: (docs, R, K). For kinds in CURVED."""
    assert kind in CURVED, f"{kind} has no curvature"
    product: Tensor = _kernel(scores).loss_curvature(kind, scores, direction, labels, weights, cost)
    return product


def loss_diagonal(kind: str, scores: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None) -> Tensor:
    """The diagonal of the second derivative of the summed loss by the scores: (docs, R, K). For kinds in CURVED."""
    assert kind in CURVED, f"{kind} has no curvature"
    diagonal: Tensor = _kernel(scores).loss_diagonal(kind, scores, labels, weights, cost)
    return diagonal


def _kernel(scores: Tensor):  # type: ignore[no-untyped-def]
    return import_module(f"{__name__}.{KERNELS.get(scores.device.type, 'reference')}")
