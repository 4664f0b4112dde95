"""Truncated Newton steps: conjugate gradients on the Newton equation, for many replicas in lockstep."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpuclf.ops.replica_vectors import replica_combination
from gpuclf.optim.lbfgs import Dots


def newton_direction(
    hessian: Callable[[Tensor], Tensor], gradient: Tensor, forcing: Tensor, most: int, dots: Dots
) -> Tensor:
    """d with |H d + gradient| ≤ forcing · |gradient| per replica (R,), or after `most` products with H.

    (Dembo & Steihaug 1983.) H is positive semidefinite; a replica stops where it finds no curvature, and takes the
    gradient itself if that is at once. Replicas that are done change no more.
    """
    direction = torch.zeros_like(gradient)
    one = torch.ones(gradient.shape[1], dtype=torch.float64, device=gradient.device)
    residual = replica_combination(-one[None], [gradient])
    search = residual.clone()
    square = dots([(residual, residual)])[0]
    goal = forcing.square() * square
    active = square > 0
    for product in range(most):
        if not bool(active.any()):
            break
        bent = hessian(search)
        curvature = dots([(search, bent)])[0]
        flat = active & (curvature <= 1e-14 * square)
        if product == 0:
            direction = replica_combination(flat.double()[None], [search])
        active = active & ~flat
        length = torch.where(active, square / curvature, 0.0)
        direction = replica_combination(torch.stack([one, length]), [direction, search])
        residual = replica_combination(torch.stack([one, -length]), [residual, bent])
        fresh = dots([(residual, residual)])[0]
        growth = torch.where(active, fresh / square, 0.0)
        square = torch.where(active, fresh, square)
        active = active & (square > goal)
        search = replica_combination(torch.stack([one, growth]), [residual, search])
    return direction
