"""One epoch of dual coordinate descent for L2-regularised linear classifiers, for many replicas at once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import torch
from torch import Tensor

__all__ = ["DualModel", "DualRows", "dual_epoch", "has_kernel"]

# device type -> module here; a device that is not listed runs the reference. An epoch is one document after the other,
# each a few operations: too little for a launch on a GPU, so a CUDA model is walked by the host's kernel, as a copy.
KERNELS = {"cpu": "cpu", "cuda": "host"}


def has_kernel(device: torch.device) -> bool:
    """Whether the device has a kernel of its own, so that an epoch costs about as much as other passes there."""
    return KERNELS.get(device.type) == device.type


@dataclass(frozen=True)
class DualRows:
    """Documents with the scales of their views: crow, col, val in CSR form, columns 1 … V; labels (docs,) int64;
    col_scale (views, V+1) and row_scale (views, docs), None for ones."""

    crow: Tensor
    col: Tensor
    val: Tensor
    labels: Tensor
    col_scale: Tensor | None
    row_scale: Tensor | None


@dataclass(frozen=True)
class DualModel:
    """What an epoch changes in place, of one float type: weights (V+1, R, K), row 0 the offset, and duals
    (docs, R, K). Neighbouring replicas of a stream may be a slice [:, a:b] of more."""

    weights: Tensor
    duals: Tensor


def dual_epoch(
    kind: str,
    rows: DualRows,
    order: Tensor,
    view: int,
    bounds: Tensor,
    cost: Tensor | None,
    offset: bool,
    model: DualModel,
) -> None:
    """The documents `order` (n,) in turn: each document's duals become the best that they can be, all others fixed.

    Minimised is ½‖W‖² + Σ over n of bounds[n, r] · loss, with bounds (docs, R) float64 ≥ 0 (0: left out).
    margin (Crammer & Singer 2001; Keerthi et al. 2008): W = Σ_n x_n a_nᵀ with a_n = duals[n], Σ_k a_nk = 0,
    a_nk ≤ bounds[n] for the gold class, ≤ 0 for the others; cost (K, K) float64 or None for ones.
    logistic (Yu, Huang & Lin 2011): duals[n] = p_n > 0, Σ_k p_nk = bounds[n], and W = Σ_n x_n (bounds[n]·e_y - p_n)ᵀ.
    The offset is a feature of value 1 like the others, if there is one: what keeps it from being penalised is the
    caller's affair. On the CPU a replica's bits depend on no other.
    """
    kernel = import_module(f"{__name__}.{KERNELS.get(model.weights.device.type, 'reference')}")
    kernel.dual_epoch(kind, rows, order, view, bounds, cost, offset, model)
