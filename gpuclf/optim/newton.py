"""Truncated Newton steps: conjugate gradients on the Newton equation, for many replicas in lockstep."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gpuclf.ops.replica_vectors import replica_combination
from gpuclf.optim.lbfgs import Dots

_SHARE = 0.5


def newton_direction(
    hessian: Callable[[Tensor], Tensor], gradient: Tensor, inverse: Tensor, most: int, dots: Dots
) -> Tensor:
    """d that nearly minimises gradient · d + ½ d · H d, by at most `most` products with H (Dembo & Steihaug 1983).

    inverse (M, R, K): the inverse of H's diagonal, which preconditions. A replica stops, and changes no more, where the
    last of its j products lowered the model by less than _SHARE of the mean of all j (Nash & Sofer 1990, eq. 4), or
    where it finds no curvature. H is positive semidefinite; without curvature at once, d is the scaled gradient.
    """
    direction = torch.zeros_like(gradient)
    one = torch.ones(gradient.shape[1], dtype=torch.float64, device=gradient.device)
    residual = replica_combination(-one[None], [gradient])
    scaled = residual * inverse
    search = scaled.clone()
    square = dots([(residual, scaled)])[0]
    lowered = torch.zeros_like(square)
    active = square > 0
    for product in range(1, most + 1):
        if not bool(active.any()):
            break
        bent = hessian(search)
        curvature = dots([(search, bent)])[0]
        flat = active & (curvature <= 1e-14 * square)
        if product == 1:
            direction = replica_combination(flat.double()[None], [search])
        active = active & ~flat
        length = torch.where(active, square / curvature, 0.0)
        direction = replica_combination(torch.stack([one, length]), [direction, search])
        residual = replica_combination(torch.stack([one, -length]), [residual, bent])
        gain = 0.5 * length * square
        lowered = lowered + gain
        active = active & (product * gain > _SHARE * lowered)
        scaled = residual * inverse
        fresh = dots([(residual, scaled)])[0]
        growth = torch.where(active, fresh / square, 0.0)
        square = torch.where(active, fresh, square)
        active = active & (square > 0)
        search = replica_combination(torch.stack([one, growth]), [scaled, search])
    return direction
