"""Trees over categorical and binned inputs, grown in one call; every draw is a hash of what it is for."""

from __future__ import annotations

from importlib import import_module

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64
from gpuclf.ops.grow_forest.records import LEAF, MOST_ROWS, NO_LIMIT, PADDING, GrowthRules, Table, Trees

_KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type → module of this package; all others: reference

__all__ = ["LEAF", "MOST_ROWS", "NO_LIMIT", "PADDING", "GrowthRules", "Table", "Trees", "grow_forest", "tree_keys"]


def tree_keys(seed: Tensor, tree: Tensor) -> Tensor:
    """The root of all draws of trees `tree` under `seed` (int64, broadcast): hash64(seed, tree)."""
    return hash64(*torch.broadcast_tensors(seed, tree))


def grow_forest(
    table: Table, labels: Tensor, weight: Tensor, sample: Tensor, class_weight: Tensor, keys: Tensor, rules: GrowthRules
) -> Trees:
    """T trees (ID3, Quinlan 1986; composed features: Nielsen & Pradhan 2004).

    labels (docs,) int64 in 0..K-1 where weight is positive; weight (W, docs) int32 ≥ 0: how often a row stands in
    each sample; sample (T,) int64: the sample of each tree; class_weight (W, K) int64 ≥ 1: times a row counts by its
    class in costs and votes; keys (T,) int64 from tree_keys. A sample holds a row at least, and at most MOST_ROWS
    weighted ones.

    A tree depends on its own key and sample alone: not on other trees, threads or the device. Draws are keyed by
    (tree, path of the node, number of the draw), inputs by their place, values by their rank among those present.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(labels.device.type, 'reference')}")
    trees: Trees = kernel.grow_forest(table, labels, weight, sample, class_weight, keys, rules)
    return trees
