"""The step of the confidence-weighted rules at one document, for Triton programs."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language import tensor


@triton.jit
def decide(
    m: tensor, v: tensor, first: tensor, second: tensor, KIND: tl.constexpr
) -> tuple[tensor, tensor, tensor, tensor]:
    """α, ρ, β and the violation: see gpuclf.ops.instance_epoch.decision."""
    square = first * first
    safe = tl.where(v > 0.0, v, 1.0)
    if KIND == 3:
        violation = 1.0 - m
        beta = 1.0 / (safe + first)
        alpha = violation * beta
        rho = 1.0 / first
    elif KIND == 0:
        violation = first * v - m
        b = 1.0 + 2.0 * first * m
        a = 1.0 - 2.0 * first * m
        root = tl.sqrt(a * a + 8.0 * square * v)
        above = tl.where(b > 0.0, 2.0 * violation, root - b)
        alpha = above / tl.where(b > 0.0, safe * (root + b), 4.0 * first * safe)
        rho = 2.0 * alpha * first
        beta = rho / (1.0 + rho * v)
    else:
        violation = first * tl.sqrt(v) - m
        excess = violation * (first * tl.sqrt(v) + m)
        if KIND == 1:
            psi = 1.0 + square / 2.0
            zeta = 1.0 + square
            root = tl.sqrt(m * m * square * square / 4.0 + v * square * zeta)
            b = m * psi
            above = tl.where(m > 0.0, excess, root - b)
            alpha = tl.minimum(above / tl.where(m > 0.0, safe * (root + b), safe * zeta), second)
        else:
            n = v + 0.5 / second
            b = m * (2.0 * n + square * v)
            root = first * tl.sqrt(square * m * m * v * v + 4.0 * n * v * (n + v * square))
            above = tl.where(m > 0.0, 2.0 * excess, root - b)
            below = 2.0 * n * (n + v * square)
            alpha = above / tl.where(m > 0.0, root + b, tl.where(below > 0.0, below, 1.0))
        whole = alpha * v * first
        root_u = 2.0 * safe / (whole + tl.sqrt(whole * whole + 4.0 * safe))
        rho = alpha * first / root_u
        beta = alpha * first / (root_u + whole)
    alpha = tl.where((violation > 0.0) & (v > 0.0), alpha, 0.0)
    return alpha, rho, beta, tl.where(violation <= 0.0, 0.0, violation)
