"""One epoch of stochastic gradient descent on penalised losses, for the replicas of one view and order."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import torch
from torch import Tensor

__all__ = ["Portion", "StochasticModel", "StochasticRule", "stochastic_epoch"]

KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type -> module here; other devices run the reference


@dataclass(frozen=True)
class Portion:
    """What is visited: rows in CSR form, columns 1 … V, under one view (scales or None for ones), labels (docs,) int64,
    weights (docs, R) float64 ≥ 0 of the documents' losses, order (n,) int64, `batch` documents an update."""

    crow: Tensor
    col: Tensor
    val: Tensor
    labels: Tensor
    col_scale: Tensor | None
    row_scale: Tensor | None
    weights: Tensor
    order: Tensor
    batch: int

    def sizes(self) -> Tensor:
        """(updates,) int64, on the CPU: documents of each update; the last may have fewer than `batch`."""
        docs = self.order.numel()
        sizes = torch.full((-(-docs // self.batch),), self.batch, dtype=torch.int64)
        sizes[-1:] -= -docs % self.batch
        return sizes


@dataclass(frozen=True)
class StochasticRule:
    """kind and cost: the loss (gpuclf.ops.class_loss). rates (updates, R) float64: the step length of each update.

    ridge, lasso (R,) float64 on the scale of a mean loss. adaptive: AdaGrad. offset false: column 0 stays 0.
    """

    kind: str
    cost: Tensor | None
    rates: Tensor
    ridge: Tensor
    lasso: Tensor
    adaptive: bool
    offset: bool


@dataclass(frozen=True)
class StochasticModel:
    """Changed in place: weights (V+1, R, K); for AdaGrad squares of the same shape and float type, else None; for
    averages sums of the same shape in float64, to which every update adds its documents times the weights it left."""

    weights: Tensor
    squares: Tensor | None
    sums: Tensor | None = None


def stochastic_epoch(portion: Portion, rule: StochasticRule, model: StochasticModel) -> Tensor:
    """All documents of the order once; the summed weighted loss (R,) float64, each document's before its update.

    An update t takes the mean gradient g of its documents' weighted losses, and then the penalty's proximal step, with
    rate η_t (for AdaGrad η_t / (√(Σ g²) + 1e-10) for each weight by itself, Duchi et al. 2011; Eisenstein 2018, 2.74):
        w ← w - η g,   then   w ← sign(w) · max(0, |w| - η·lasso) / (1 + η·ridge), but for the offset.
    The reference does so for every weight; kernels catch up with the penalty of a weight when a document needs it
    (Eisenstein 2.6.2), which gives the same weights but for rounding. The perceptron loss's gradient is e_ŷ - e_y with
    the prediction ŷ, ties to the lowest index, also where ŷ ties with y.
    """
    kernel = import_module(f"{__name__}.{KERNELS.get(model.weights.device.type, 'reference')}")
    loss: Tensor = kernel.stochastic_epoch(portion, rule, model)
    return loss
