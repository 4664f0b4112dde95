"""The L1 part of orthant-wise quasi-Newton steps (Andrew & Gao 2007, "Scalable training of L1-regularized models").

Vectors are weights (V+1, R, K); row 0, the offset, has no penalty. lasso (R,) is the factor of |w|.
"""

from __future__ import annotations

import torch
from torch import Tensor


def pseudo_gradient(weights: Tensor, gradient: Tensor, lasso: Tensor) -> Tensor:
    """The steepest one-sided slopes of smooth part + lasso · |w| (eq. 4)."""
    bound = lasso.to(gradient.dtype)[:, None]
    up, down = gradient + bound, gradient - bound
    at_zero = torch.where(up < 0, up, torch.where(down > 0, down, 0.0))
    result = torch.where(weights > 0, up, torch.where(weights < 0, down, at_zero))
    result[0] = gradient[0]
    return result


def align(direction: Tensor, pseudo: Tensor) -> Tensor:
    """The direction without the components that do not go down (eq. 5); the offset's stay."""
    result = torch.where(direction * pseudo < 0, direction, 0.0)
    result[0] = direction[0]
    return result


def orthant_of(weights: Tensor, pseudo: Tensor) -> Tensor:
    """The signs (-1, 0, 1) that a step may not leave."""
    return torch.where(weights != 0, weights.sign(), -pseudo.sign())


def move(weights: Tensor, step: Tensor, direction: Tensor, orthant: Tensor) -> Tensor:
    """weights + step (R,) · direction, weights that leave the orthant becoming 0 (eq. 6)."""
    moved = weights + step.to(weights.dtype)[:, None] * direction
    result = torch.where(moved * orthant > 0, moved, 0.0)
    result[0] = moved[0]
    return result
