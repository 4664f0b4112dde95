"""Sums of leaf values of many trees for coded rows, class by class: the scores of boosted trees."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.forest_votes.record import Forests

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["leaf_sums"]


def leaf_sums(forests: Forests, leaf: Tensor, codes: Tensor, docs: Tensor, num_classes: int) -> Tensor:
    """(R, len(docs), K) float64: the values `leaf` (R, T, L) of the leaves reached, tree t counting for class t % K.

    codes (all docs, M) int32; docs (n,) int64. Trees that are padding give nothing; sums run in the order of the trees.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(codes.device.type, 'reference')}")
    sums: Tensor = kernel.leaf_sums(forests, leaf, codes, docs, num_classes)
    return sums
