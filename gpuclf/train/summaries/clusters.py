"""Snippets of each group clustered: all groups (businesses × aspects) of like size as one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gpuclf.ops.average_linkage import average_linkage, clusters_above, cut
from gpuclf.ops.counter_hash import hash64
from gpuclf.ops.gram_kmeans import gram_kmeans
from gpuclf.ops.group_grams import STEP, group_grams
from gpuclf.ops.partition_scores import partition_scores
from gpuclf.train.summaries.vectors import SnippetRows

_CELLS = 1 << 23  # of the largest tensor of a batch
_NEVER = -torch.inf


@dataclass(frozen=True)
class ClusterOptions:
    """How the snippets of a group are clustered.

    method: linkage (average linkage) or kmeans (spherical). clusters: so many in each group, fewer where it has fewer
    unlike snippets; None chooses by group: kmeans takes the number from 2 to `most` with the best mean silhouette, and
    one cluster where that is below `least_silhouette`; linkage merges while clusters are alike by `threshold`.
    restarts, seed: of kmeans. word_share: of the cosine, the rest is the character n-grams'.
    largest: of a larger group so many snippets, drawn by hash, are clustered, and the others join the nearest cluster.
    """

    method: Literal["kmeans", "linkage"] = "linkage"
    clusters: int | None = None
    threshold: float = 0.1
    most: int = 12
    least_silhouette: float = 0.05
    restarts: int = 10
    seed: int = 0
    word_share: float = 0.6
    largest: int = 2048


def cluster_groups(rows: SnippetRows, first: Tensor, sizes: Tensor, keys: Tensor, options: ClusterOptions) -> Tensor:
    """(snippets,) int64: the cluster of each snippet within its group, numbered by their first snippets.

    Group g is the snippets first[g] to first[g] + sizes[g]; keys (G,) int64 name groups for draws, so that a group's
    clusters are the same whatever is clustered beside it.
    """
    labels = torch.zeros(rows.crow.numel() - 1, dtype=torch.int64, device=rows.crow.device)
    small = torch.nonzero(sizes <= options.largest).flatten()
    for batch in _batches(sizes[small], options):
        groups = small[batch]
        found = _labels(rows, first[groups], sizes[groups], keys[groups], options)
        place = torch.arange(found.shape[1], device=found.device)
        present = place < sizes[groups, None]
        labels[(first[groups, None] + place)[present]] = found[present]
    for group in torch.nonzero(sizes > options.largest).flatten().tolist():
        own = torch.arange(int(first[group]), int(first[group] + sizes[group]), device=labels.device)
        labels[own] = _large_group(rows.select(own), keys[group], options)
    return labels


def centrality(rows: SnippetRows, cluster: Tensor) -> Tensor:
    """(snippets,) float64: how much each is like the sum of its cluster, x · Σ y; cluster (snippets,) int64, over all
    groups, negative for snippets that are left out (0). Rounded, so that like snippets are equal on all devices."""
    owner = rows.entry_rows()
    counted = cluster[owner] >= 0
    owner, val = owner[counted], rows.val[counted]
    cell, number = torch.unique(cluster[owner] * rows.width + rows.col[counted], return_inverse=True)
    sums = torch.zeros(cell.numel(), dtype=torch.float64, device=val.device).index_add_(0, number, val)
    found = torch.zeros_like(cluster, dtype=torch.float64).index_add_(0, owner, val * sums[number])
    return torch.round(found / STEP) * STEP


def _batches(sizes: Tensor, options: ClusterOptions) -> list[Tensor]:
    """Groups by falling size, cut where padding and replicas would make the batch too large."""
    order = torch.argsort(sizes, descending=True, stable=True)
    tried = options.most * options.most * options.restarts if options.method == "kmeans" else 1
    batches, start = [], 0
    while start < order.numel():
        width = max(1, int(sizes[order[start]]))
        count = max(1, _CELLS // (width * max(width, tried)))
        batches.append(order[start : start + count])
        start += count
    return batches


def _labels(rows: SnippetRows, first: Tensor, sizes: Tensor, keys: Tensor, options: ClusterOptions) -> Tensor:
    """(B, n) int64, -1 beyond a group's size."""
    grams = group_grams(rows.crow, rows.col, rows.val, first, sizes, max(1, int(sizes.max())))
    if options.method == "linkage":
        merges = average_linkage(grams, sizes)
        if options.clusters is None:
            return cut(merges, sizes, clusters_above(merges, sizes, options.threshold)[:, None])[:, 0]
        wanted = torch.full_like(sizes, options.clusters).minimum(sizes.clamp(min=1))
        return cut(merges, sizes, wanted[:, None])[:, 0]
    if options.clusters is not None:
        ks = torch.tensor([min(options.clusters, grams.shape[1])], device=sizes.device)
        return gram_kmeans(grams, sizes, ks, keys, seed=options.seed, restarts=options.restarts).labels[:, 0]
    ks = torch.arange(1, max(2, min(options.most, grams.shape[1])) + 1, device=sizes.device)
    partitions = gram_kmeans(grams, sizes, ks, keys, seed=options.seed, restarts=options.restarts)
    silhouette = partition_scores(grams, sizes, partitions.labels).silhouette
    told = (ks > 1) & (ks < sizes[:, None])  # one cluster has none, and every snippet by itself tells nothing
    silhouette = torch.where(told, silhouette, _NEVER)
    silhouette[:, 0] = options.least_silhouette
    best = silhouette.argmax(dim=1)  # of equals the fewest clusters
    return partitions.labels[torch.arange(best.numel(), device=best.device), best]


def _large_group(rows: SnippetRows, key: Tensor, options: ClusterOptions) -> Tensor:
    """The labels of one large group, most of whose rows join the cluster that they are most like."""
    count = rows.crow.numel() - 1
    device = rows.crow.device
    drawn = hash64(options.seed, key, torch.arange(count, device=device)).argsort(stable=True)[: options.largest]
    drawn = drawn.sort().values
    sample = rows.select(drawn)
    start, size = drawn.new_zeros(1), drawn.new_full((1,), drawn.numel())
    labels = _labels(sample, start, size, key[None], options)[0]
    clusters = int(labels.max()) + 1
    sums = torch.zeros(rows.width, clusters, dtype=torch.float64, device=device)
    sums.index_put_((sample.col, labels[sample.entry_rows()]), sample.val, accumulate=True)
    if options.method == "kmeans":
        sums = sums / sums.norm(dim=0).clamp(min=1e-12)
    else:
        sums = sums / torch.bincount(labels, minlength=clusters)
    likeness = torch.zeros(count, clusters, dtype=torch.float64, device=device)
    likeness.index_add_(0, rows.entry_rows(), rows.val[:, None] * sums[rows.col])
    joined = (torch.round(likeness / STEP) * STEP).argmax(dim=1)
    joined[drawn] = labels
    return _by_first(joined)


def _by_first(labels: Tensor) -> Tensor:
    """Clusters numbered in the order of their first snippets."""
    first = torch.full((int(labels.max()) + 1,), labels.numel(), dtype=torch.int64, device=labels.device)
    first = first.scatter_reduce(0, labels, torch.arange(labels.numel(), device=labels.device), "amin")
    return first.argsort(stable=True).argsort()[labels]
