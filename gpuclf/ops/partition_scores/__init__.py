"""How good partitions of many groups are: silhouette and cohesion, by which a number of clusters is chosen."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from gpuclf.ops.partition_scores import reference


class PartitionScores(NamedTuple):
    """Of partitions (B, J), float64. silhouette: the mean over rows of (b - a) / max(a, b), with a the mean distance
    (1 - cosine) to the others of its cluster, b to the nearest other cluster, 0 for rows by themselves and where there
    is one cluster (Rousseeuw 1987). cohesion: Σ over rows of their cosine to the mean of their cluster."""

    silhouette: Tensor
    cohesion: Tensor


def partition_scores(grams: Tensor, sizes: Tensor, labels: Tensor) -> PartitionScores:
    """grams (B, n, n) float64 as `gpuclf.ops.group_grams` gives them, sizes (B,) int64, labels (B, J, n) int64,
    negative beyond a group's size. A few products, on every device."""
    return PartitionScores(*reference.partition_scores(grams, sizes, labels))
