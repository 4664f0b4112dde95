"""log of the rising factorial, lgamma(x + k) - lgamma(x), without taking a difference of large numbers."""

from __future__ import annotations

import torch
from torch import Tensor

SHORT = 8  # up to here one log of a product; beyond, Stirling's series from x + 8 on, where it is good to 1e-12


def log_rise(x: Tensor, k: Tensor) -> Tensor:
    """log x(x+1)…(x+k-1), float64, for x > 0 float64 and whole k ≥ 0 (broadcast).

    The first eight factors are one product (below 1e308 for x up to 1e38); the rest is the difference of Stirling's
    series (Abramowitz & Stegun 6.1.40), with the large terms joined into the log of a ratio near 1 (log1p).
    """
    x, k = torch.broadcast_tensors(x.to(torch.float64), k)
    product = torch.ones_like(x)
    for j in range(SHORT):
        product = torch.where(j < k, product * (x + j), product)
    rest = (k - SHORT).clamp(min=0).to(torch.float64)
    return product.log() + _stirling_difference(x + SHORT, rest)


def _stirling_difference(x: Tensor, k: Tensor) -> Tensor:
    """lgamma(x + k) - lgamma(x) for x ≥ 8; exactly 0 for k = 0."""
    y = x + k
    return (x - 0.5) * (k / x).log1p() + k * y.log() - k + (_series(y) - _series(x))


def _series(x: Tensor) -> Tensor:
    """1/12x - 1/360x³ + 1/1260x⁵ - 1/1680x⁷ + 1/1188x⁹."""
    w = 1.0 / (x * x)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188))))) / x
