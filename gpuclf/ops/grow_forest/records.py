"""What growth takes and gives: the table, the rules of splitting, and trees as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LEAF = -1
PADDING = -2
TERM_BITS = 32  # fractional bits of n · log2 n, and of the Gini cost
MOST_ROWS = 1 << 25  # weighted rows of a tree: beyond it a fixed-point n · log2 n could pass 2^63
NO_LIMIT = (1 << 31) - 1
LEFT, RIGHT, DRAWS = 0, 1, 2  # what is hashed onto a node's key: its sides, then its draws


@dataclass(frozen=True)
class GrowthRules:
    """How a node is split.

    splits: composed (random subsets of an input's values), sorted (prefixes of the values ordered by a class score),
    binary (one value against the rest). criterion: entropy (log2, ID3) or gini.
    subset: values in a composed subset, of the V present ones: log2 ⌊1.5 + log2 V⌋ (1 up to V = 4), sqrt, half, or a
    number; always below V. candidates: composed subsets tried a node: factor · ⌊√f⌋, ⌊log2 f⌋ + 1 or a number.
    order: sorted values by the share of one class (drawn by its rows at the node) or by a random projection of all
    shares; smoothing: rows of the node's own class shares that are added to each value's; values with fewer than
    min_category_rows rows are not ordered and go with the rest, and at most max_prefix values are split off.
    max_features: inputs tried a node (sorted, binary). extra_trees: one cut an input, drawn, in place of the best.
    relevant: the values that composed subsets are drawn from. exact: those present at the node. lazy (Nielsen & Pradhan
    2004): of n rows, a node with n < recount_below, one with 2 n ≤ the rows of the node whose count it would go by, and
    the root count them; every other node goes by its parent's list, with V, f and F of that list, in which values may
    be that the node has not. A candidate that leaves a side too few rows, or none, is no split; where all are such, the
    node counts after all and draws its candidates anew, by the same keys. Rows count with their multiplicity,
    without class weights.
    """

    splits: Literal["composed", "sorted", "binary"] = "composed"
    criterion: Literal["entropy", "gini"] = "entropy"
    subset: Literal["log2", "sqrt", "half"] | int = "log2"
    candidates: Literal["sqrt", "log"] | int = "sqrt"
    candidate_factor: float = 1.0
    order: Literal["one_vs_rest", "projection"] = "one_vs_rest"
    smoothing: float = 1.0
    min_category_rows: int = 1
    max_prefix: int = NO_LIMIT
    max_features: int = NO_LIMIT
    max_depth: int = NO_LIMIT
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    extra_trees: bool = False
    relevant: Literal["exact", "lazy"] = "exact"
    recount_below: int = 1000

    def subset_sizes(self, most: int) -> NDArray[np.int64]:
        """(most + 1,) int64: values in a composed subset of V present ones; 0 where there is nothing to split."""
        sizes = np.zeros(most + 1, dtype=np.int64)
        for present in range(2, most + 1):
            sizes[present] = min(present - 1, max(1, self._subset(present)))
        return sizes

    def _subset(self, present: int) -> int:
        if self.subset == "sqrt":
            return isqrt(present)
        if self.subset == "half":
            return present // 2
        if isinstance(self.subset, int):
            return self.subset
        return _log2_subset(present)

    def candidate_counts(self, most: int) -> NDArray[np.int64]:
        """(most + 1,) int64: composed subsets tried at a node that offers f of them; 1 at least."""
        features = np.arange(most + 1, dtype=np.int64)
        if isinstance(self.candidates, int):
            counts = np.full(most + 1, self.candidates, dtype=np.int64)
        elif self.candidates == "log":
            counts = np.array([int(f).bit_length() for f in features], dtype=np.int64)
        else:
            counts = np.array([isqrt(int(f)) for f in features], dtype=np.int64)
        return np.maximum(1, np.floor(self.candidate_factor * counts).astype(np.int64))


def _log2_subset(present: int) -> int:
    """⌊1.5 + log2 V⌋ = 1 + the largest k with 2^k ≤ √2 · V, that is 2^2k ≤ 2 V²: in whole numbers."""
    if present <= 4:
        return 1
    return 1 + ((2 * present * present).bit_length() - 1) // 2


@dataclass(frozen=True)
class Table:
    """Rows of categories: codes (docs, inputs) int32, num_values of each input, ordered (inputs,) bool.

    An ordered input (bins of a number) is cut at a threshold: codes up to it go left.
    """

    codes: Tensor
    num_values: tuple[int, ...]
    ordered: tuple[bool, ...]


@dataclass(frozen=True)
class Trees:
    """T grown trees, nodes breadth first, children side by side, rows padded to the longest tree.

    input (T, L) int32: the input that a node asks about; LEAF; PADDING beyond the tree's `nodes` (T,).
    left  (T, L) int32: the left child (the right one follows it); of a leaf the class it votes for.
    first, size (T, L) int32: where in `values` (T, S) int32 the codes that go left stand, rising; of an ordered input
          `first` is the threshold and size -1; of a leaf with several classes its pairs class, weighted rows (`size`
          pairs).
    rows  (T, L) int32: training rows of the node, with multiplicity.
    depth (T,) int32; gain (T, inputs) float64: bits (or Gini mass) times rows that the splits of each input gained.
    """

    nodes: Tensor
    input: Tensor
    left: Tensor
    first: Tensor
    size: Tensor
    rows: Tensor
    values: Tensor
    depth: Tensor
    gain: Tensor


def terms(total: int) -> NDArray[np.int64]:
    """n · log2 n for n = 0 … total with TERM_BITS fractional bits: sums of it are exact in any order."""
    n = np.arange(total + 1, dtype=np.float64)
    n[0] = 1.0
    values = n * np.log2(n) * float(1 << TERM_BITS)
    return np.rint(values).astype(np.int64)


def padded(parts: list[NDArray[np.int32]], fill: int) -> Tensor:
    """(T, longest) int32 of arrays of different lengths."""
    out = np.full((len(parts), max(1, max(part.size for part in parts))), fill, dtype=np.int32)
    for row, part in zip(out, parts, strict=True):
        row[: part.size] = part
    return torch.from_numpy(out)
