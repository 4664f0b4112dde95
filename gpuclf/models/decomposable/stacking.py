"""Weights of the models of a sequence under which each row's class is likeliest, the row itself left out of its counts.

Stacking (Wolpert 1992, "Stacked generalization"; Smyth & Wolpert 1999, "Linearly combining density estimators via
stacking") of P(class | inputs): a model is trusted as far as it helps the others on rows that it has not counted, where
weights by likelihood would go to a single one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.models.decomposable.selection import posterior

ROUNDS = 100  # of the EM algorithm: weights then change in the third decimal at most
LEAST_WEIGHT = 0.01  # lighter models are left out, and need no tables
_SAME = 1e-5


def gold_shares(scores: Tensor, labels: Tensor, prior: Tensor) -> Tensor:
    """(…, n) float32: P(class | inputs) of each row's own class (…, n), by scores (…, n, K); prior (…, K): log shares,
    which speak where a model covers no class."""
    return posterior(scores, prior).gather(-1, labels[..., None])[..., 0].exp().to(torch.float32)


def stack_weights(shares: Tensor) -> Tensor:
    """(M,) float64: the weights w ≥ 0, Σ w = 1, that maximise Σ_n log Σ_m w_m shares[m, n], shares (M, n), by EM from
    equal ones; those below LEAST_WEIGHT as 0. A model that says what the one before it says (a move that leaves the
    class alone) has none. Without rows all are equal."""
    held = shares.to(torch.float64)
    weights = torch.ones(len(held), dtype=torch.float64, device=held.device)
    if not held.shape[1]:
        return weights / len(held)
    weights[1:] = ((held[1:] - held[:-1]).abs().amax(dim=1) > _SAME).double()
    weights = weights / weights.sum()
    for _ in range(ROUNDS):
        joint = weights[:, None] * held
        weights = (joint / joint.sum(dim=0).clamp(min=1e-300)).sum(dim=1)
        weights = weights / weights.sum().clamp(min=1e-300)
    kept = torch.where(weights >= min(LEAST_WEIGHT, float(weights.max())), weights, 0.0)
    return kept / kept.sum()


def without_tail(weights: Tensor) -> Tensor:
    """weights (2 + S,) of two rivals and a sequence, up to the last of the sequence that has one, or its first."""
    used = torch.nonzero(weights[2:])
    return weights[: 3 + int(used.max())] if used.numel() else weights[:3]
