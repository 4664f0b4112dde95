"""One round of boosting: a tree of gradients for each class, all from the same scores."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.boost_round.records import SCALE_BITS, BoostRules, BoostTrees
from gpuclf.ops.class_slopes import ClassSlopes

_KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type → module of this package; all others: reference

__all__ = ["SCALE_BITS", "BoostRules", "BoostTrees", "boost_round"]


def boost_round(
    codes: Tensor,
    num_values: tuple[int, ...],
    ordered: tuple[bool, ...],
    slopes: ClassSlopes,
    rules: BoostRules,
) -> BoostTrees:
    """Trees of K classes over groups of rows, codes (G, M) int32.

    ordered[i]: input i is cut at a threshold. slopes: of the loss by the class's score, times 2^SCALE_BITS. Ties go to
    the first input, then to the shortest prefix, from the low end first. A tree depends on its class's slopes alone,
    and not on threads. A group that has none is not in the tree's sample: it counts nowhere, but gets the value of the
    leaf that it ends in.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(codes.device.type, 'reference')}")
    trees: BoostTrees = kernel.boost_round(codes, num_values, ordered, slopes, rules)
    return trees
