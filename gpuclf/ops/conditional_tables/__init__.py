"""Tables of two variables within the strata of a separator: distance from independence, and degrees of freedom."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["conditional_statistics", "permutation_counts"]


def conditional_statistics(
    codes: Tensor, num_values: Tensor, pairs: Tensor, separators: Tensor, power: float
) -> Tensor:
    """(P, 3) float64 for each pair a, b with its separator S, from the cells that occur: never the product space.

    Distance: with power 0 G² = 2 [L(abS) + L(S) − L(aS) − L(bS)], L(T) = Σ n ln n; else the power divergence (Cressie &
    Read 1984) 2 / (λ (λ + 1)) · (Σ O (O / E)^λ − N), E = n(aS) n(bS) / n(S): Pearson's X² for λ = 1.
    Degrees of freedom over the strata that occur: Σ (values of a seen − 1)(values of b seen − 1); and by cells,
    cells(abS) + cells(S) − cells(aS) − cells(bS), which may be below 0 (Pedersen, Bruce & Wiebe 1997).

    codes (V, n) int32 below num_values (V,) int64; pairs (P, 2) int64; separators (P, V) bool. No distance is below 0.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(codes.device.type, 'reference')}")
    found: Tensor = kernel.conditional_statistics(codes, num_values, pairs, separators, power)
    return found


def permutation_counts(
    codes: Tensor, num_values: Tensor, pairs: Tensor, separators: Tensor, observed: Tensor, times: int, seed: int
) -> Tensor:
    """(P,) int64: of `times` permutations of b within the strata of S, how many have a G² not below `observed` (P,).

    The exact conditional test by sampling (Bruce & Wiebe 1994). Rows of a stratum take each other's b in the order of
    their draws, hashes of (seed, permutation, row, pair).
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(codes.device.type, 'reference')}")
    found: Tensor = kernel.permutation_counts(codes, num_values, pairs, separators, observed, times, seed)
    return found
