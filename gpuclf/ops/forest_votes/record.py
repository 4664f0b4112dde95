"""Forests as tensors."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Forests:
    """R forests of T trees: input, left, first, size, rows (R, T, L) int32 and values (R, T, S) int32.

    The fields of a tree are those of gpuclf.ops.grow_forest.Trees; a tree whose root is padding votes for nothing.
    base (M + 1,) int64: where each input's values begin among those of all inputs.
    """

    input: Tensor
    left: Tensor
    first: Tensor
    size: Tensor
    rows: Tensor
    values: Tensor
    base: Tensor
