"""Spherical k-means of many groups, for many k and restarts at once, from the similarities of their rows."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64, uniform

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference
LEAST_GAIN = 1e-9  # a move that gains less is rounding


class Partitions(NamedTuple):
    """labels (B, J, n) int64: the clusters of each group for each k, numbered by their first rows; -1 beyond its size.

    cohesion (B, J) float64: Σ over rows of their cosine to the mean of their cluster, which k-means raises.
    """

    labels: Tensor
    cohesion: Tensor


def gram_kmeans(
    grams: Tensor, sizes: Tensor, ks: Tensor, keys: Tensor, *, seed: int, restarts: int, max_iter: int = 50
) -> Partitions:
    """The best of `restarts` partitions of each group into at most k clusters (fewer where it has fewer unlike rows).

    Clusters are the sums of their rows, so their cosines to rows follow from similarities alone: with s the sum of a
    cluster, x·s = Σ G[x, y] and |s|² = ΣΣ G[y, z]. First rows are drawn by k-means++ (Arthur & Vassilvitskii 2007) with
    1 - cosine for the squared distance; then rows go to their nearest mean until none changes (Dhillon & Modha 2001),
    then the one row that gains most moves, until none gains (first variation, Dhillon, Guan & Kogan 2002).
    Ties go to the lowest cluster and row, of restarts to the first. A draw is a hash of (seed, key of the group, k,
    restart, number of the draw): a group's clusters do not depend on the groups beside it.

    grams (B, n, n) float64 as `group_grams` gives them; sizes, keys (B,) int64; ks (J,) int64, from 1.
    """
    most = int(ks.max())
    number = torch.arange(most, device=grams.device)
    restart = torch.arange(restarts, device=grams.device)[:, None]
    draws = uniform(hash64(seed, keys[:, None, None, None], ks[:, None, None], restart, number))
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(grams.device.type, 'reference')}")
    return Partitions(*module.gram_kmeans(grams, sizes, ks, draws, max_iter, LEAST_GAIN))
