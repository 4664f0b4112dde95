"""The table of `InstanceRule` as tensor operations."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gpuclf.ops.instance_epoch.records import InstanceRule


class Step(NamedTuple):
    """Each (R,) float64: α, 0 for no update; ρ; β = ρ/(1 + ρv); the violation."""

    alpha: Tensor
    rho: Tensor
    beta: Tensor
    loss: Tensor


def confident_step(rule: InstanceRule, first: Tensor, second: Tensor, m: Tensor, v: Tensor) -> Step:
    """The rule at margins m and variances v (R,); first and second are its `numbers`.

    The roots are written as the papers have them where -b + √(b² + …) has b ≤ 0, and multiplied by √(b² + …) + b above
    and below the line where b > 0 and the difference would cancel.
    """
    if rule.kind == "arow":
        beta = 1.0 / (v + first)
        violation = 1.0 - m
        alpha = violation * beta
        rho = 1.0 / first
    elif rule.kind == "variance":
        phi = first
        violation = phi * v - m
        b = 1.0 + 2.0 * phi * m
        root = torch.sqrt((1.0 - 2.0 * phi * m) ** 2 + 8.0 * phi * phi * v)  # (1+2φm)² - 8φ(m-φv) in other words
        alpha = torch.where(b > 0, 2.0 * violation / (v * (root + b)), (root - b) / (4.0 * phi * v))
        rho = 2.0 * alpha * phi
        beta = rho / (1.0 + rho * v)
    else:
        alpha, violation = _scw(rule.kind, first, second, m, v)
        whole = alpha * v * first
        sqrt_u = 2.0 * v / (whole + torch.sqrt(whole * whole + 4.0 * v))
        rho = alpha * first / sqrt_u
        beta = alpha * first / (sqrt_u + whole)
    update = (violation > 0) & (v > 0)
    alpha = torch.where(update, alpha.clamp(min=0.0), 0.0)
    return Step(alpha, rho, beta, violation.clamp(min=0.0))


def _scw(kind: str, phi: Tensor, C: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    squared = phi * phi
    violation = phi * torch.sqrt(v) - m
    excess = (violation * (phi * torch.sqrt(v) + m)).clamp(min=0.0)  # φ²v - m²
    if kind == "scw1":
        psi, zeta = 1.0 + squared / 2.0, 1.0 + squared
        root = torch.sqrt(m * m * squared * squared / 4.0 + v * squared * zeta)
        alpha = torch.where(m > 0, excess / (v * (root + m * psi)), (root - m * psi) / (v * zeta))
        return torch.minimum(alpha, C), violation
    n = v + 0.5 / C
    b = m * (2.0 * n + squared * v)
    root = phi * torch.sqrt(squared * m * m * v * v + 4.0 * n * v * (n + v * squared))
    alpha = torch.where(m > 0, 2.0 * excess / (root + b), (root - b) / (2.0 * n * (n + v * squared)))
    return alpha, violation
