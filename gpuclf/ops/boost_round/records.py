"""What a round of boosting takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

SCALE_BITS = 24  # fractional bits of gradients and curvatures: their sums are exact in any order


@dataclass(frozen=True)
class BoostRules:
    """How a tree of gradients is split (Friedman 2001; Chen & Guestrin 2016, eqs. 6-7).

    A split's gain is GL² / (HL + l2) + GR² / (HR + l2) - G² / (H + l2), a leaf's value -G / (H + l2). Values of a
    category are ordered by G / (H + smoothing), and prefixes of at most max_prefix values from either end are tried;
    values with fewer than min_category_rows rows stay with the rest. Both sides hold min_samples_leaf rows and
    min_curvature of H at least.
    """

    max_depth: int = 6
    l2: float = 1.0
    smoothing: float = 1.0
    max_prefix: int = 64
    min_category_rows: int = 1
    min_samples_leaf: int = 1
    min_curvature: float = 1.0
    min_gain: float = 1e-6


@dataclass(frozen=True)
class BoostTrees:
    """A tree for each class; fields as in gpuclf.ops.grow_forest.Trees, (K, L) and (K, S) int32.

    leaf (K, L) float32: the value of a leaf. change (G, K) float32: that of each group's leaf.
    gain (M,) float64: what the splits on each input gained.
    """

    nodes: Tensor
    input: Tensor
    left: Tensor
    first: Tensor
    size: Tensor
    values: Tensor
    leaf: Tensor
    change: Tensor
    gain: Tensor
