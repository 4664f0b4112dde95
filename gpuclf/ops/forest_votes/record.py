"""Forests as tensors."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

MISSING_LEFT, MISSING_UNSEEN, MISSING_RIGHT = -1, -2, -3  # `size` of a threshold: where its node sends code 0


@dataclass(frozen=True)
class Forests:
    """R forests of T trees: input, left, first, size, rows (R, T, L) int32 and values (R, T, S) int32.

    The fields of a tree are those of gpuclf.ops.grow_forest.Trees; a tree whose root is padding votes for nothing.
    base (M + 1,) int64: where each input's values begin among those of all inputs.

    A node with a threshold sends codes up to it left. Code 0 is a missing number: size MISSING_LEFT, as growth gives
    it, takes it for the lowest code; MISSING_RIGHT sends it right, and so does MISSING_UNSEEN, where training had none.
    """

    input: Tensor
    left: Tensor
    first: Tensor
    size: Tensor
    rows: Tensor
    values: Tensor
    base: Tensor
