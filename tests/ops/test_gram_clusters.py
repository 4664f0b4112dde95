"""Clustering from similarities: group_grams, gram_kmeans, average_linkage and partition_scores.

CPU kernels give the bits of the references; these are held against plain loops, scipy and scikit-learn.
"""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_score
from torch import Tensor

from gpuclf.ops.average_linkage import average_linkage, clusters_above, cut
from gpuclf.ops.average_linkage import reference as linkage_reference
from gpuclf.ops.counter_hash import hash64, uniform
from gpuclf.ops.gram_kmeans import LEAST_GAIN, Partitions, gram_kmeans
from gpuclf.ops.gram_kmeans import reference as kmeans_reference
from gpuclf.ops.group_grams import STEP, group_grams
from gpuclf.ops.group_grams import reference as grams_reference
from gpuclf.ops.partition_scores import partition_scores

SIZES = [[1], [0, 1, 2, 3], [5, 0, 17, 1, 8], [31, 32, 33], [255, 2, 257]]


def unit_rows(sizes: list[int], columns: int = 40, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Sparse rows of length 1 (one of them empty, two equal where there are so many), densely; first rows; sizes."""
    generator = torch.Generator().manual_seed(seed)
    count = sum(sizes)
    kept = torch.rand(count, columns, generator=generator) < 0.15
    dense = torch.rand(count, columns, dtype=torch.float64, generator=generator) * kept
    if count > 6:
        dense[3] = 0
        dense[5] = dense[4]
    dense = dense / dense.norm(dim=1, keepdim=True).clamp(min=1e-9)
    size = torch.tensor(sizes)
    return dense, size.cumsum(0) - size, size


def in_csr(dense: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    row, col = dense.nonzero(as_tuple=True)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(row, minlength=len(dense)).cumsum(0)])
    return crow, col, dense[row, col]


def grams_of(sizes: list[int], seed: int = 0) -> tuple[Tensor, Tensor]:
    dense, first, size = unit_rows(sizes, seed=seed)
    return group_grams(*in_csr(dense), first, size, max(sizes)), size


def draws_of(keys: Tensor, ks: Tensor, restarts: int, seed: int) -> Tensor:
    number, restart = torch.arange(int(ks.max())), torch.arange(restarts)[:, None]
    return uniform(hash64(seed, keys[:, None, None, None], ks[:, None, None], restart, number))


def by_reference(grams: Tensor, sizes: Tensor, ks: Tensor, keys: Tensor, *, seed: int, restarts: int) -> Partitions:
    draws = draws_of(keys, ks, restarts, seed)
    return Partitions(*kmeans_reference.gram_kmeans(grams, sizes, ks, draws, 50, LEAST_GAIN))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_grams_are_rounded_products_within_groups(sizes: list[int], device: torch.device) -> None:
    dense, first, size = unit_rows(sizes)
    arguments = [part.to(device) for part in (*in_csr(dense), first, size)]
    grams = group_grams(*arguments, max(sizes)).cpu()
    assert torch.equal(grams, grams_reference.group_grams(*in_csr(dense), first, size, max(sizes)))
    assert torch.equal(grams / STEP, (grams / STEP).round())
    for group, (start, count) in enumerate(zip(first.tolist(), sizes, strict=True)):
        rows = dense[start : start + count]
        expected = torch.zeros(max(sizes), max(sizes), dtype=torch.float64)
        expected[:count, :count] = (rows @ rows.T).fill_diagonal_(1.0)
        torch.testing.assert_close(grams[group], expected, rtol=0, atol=STEP / 2 + 1e-12)


@pytest.mark.parametrize("sizes", SIZES[:4], ids=str)
def test_kmeans_gives_the_reference_bits(sizes: list[int], device: torch.device) -> None:
    grams, size = grams_of(sizes)
    ks, keys = torch.tensor([1, 2, 5, 3]), torch.arange(len(sizes)) * 7 - 3
    arguments = (part.to(device) for part in (grams, size, ks, keys))
    found = gram_kmeans(*arguments, seed=4, restarts=3)
    expected = by_reference(grams, size, ks, keys, seed=4, restarts=3)
    assert torch.equal(found.labels.cpu(), expected.labels)
    assert torch.equal(found.cohesion.cpu(), expected.cohesion)


def test_a_group_is_clustered_as_by_itself() -> None:
    sizes = [5, 19, 12]
    grams, size = grams_of(sizes, seed=1)
    ks, keys = torch.tensor([2, 4]), torch.tensor([11, 12, 13])
    batch = gram_kmeans(grams, size, ks, keys, seed=0, restarts=4)
    steps = average_linkage(grams, size)
    for group, count in enumerate(sizes):
        own, one = grams[group : group + 1, :count, :count], slice(group, group + 1)
        for place in range(2):
            alone = gram_kmeans(own, size[one], ks[place : place + 1], keys[one], seed=0, restarts=4)
            assert torch.equal(alone.labels[0, 0], batch.labels[group, place, :count])
            assert alone.cohesion[0, 0] == batch.cohesion[group, place]
        merged = average_linkage(own, size[one])
        assert torch.equal(merged.pairs[0], steps.pairs[group, : count - 1])
        assert torch.equal(merged.likeness[0], steps.likeness[group, : count - 1])


def test_kmeans_finds_the_best_partition_of_a_small_group() -> None:
    """Every assignment of 7 rows to at most 3 clusters is tried by hand."""
    dense, first, size = unit_rows([7], columns=12, seed=5)
    grams = group_grams(*in_csr(dense), first, size, 7)
    found = gram_kmeans(grams, size, torch.tensor([3]), torch.tensor([0]), seed=0, restarts=20)

    def cohesion(labels: tuple[int, ...]) -> float:
        members = [[i for i in range(7) if labels[i] == c] for c in range(3)]
        return sum(sqrt(sum(float(grams[0, i, j]) for i in rows for j in rows)) for rows in members)

    best = max(cohesion(labels) for labels in product(range(3), repeat=7))
    assert float(found.cohesion[0, 0]) == pytest.approx(best, abs=1e-8)
    assert cohesion(tuple(found.labels[0, 0].tolist())) == pytest.approx(best, abs=1e-8)


def test_no_single_move_raises_the_cohesion() -> None:
    grams, size = grams_of([24], seed=9)
    found = gram_kmeans(grams, size, torch.tensor([4]), torch.tensor([1]), seed=0, restarts=1)
    labels = found.labels[0, 0]
    for row, cluster in product(range(24), range(4)):
        other = labels.clone()
        other[row] = cluster
        moved = partition_scores(grams, size, other[None, None]).cohesion
        assert float(moved) <= float(found.cohesion) + 1e-7


def test_more_clusters_than_unlike_rows() -> None:
    """Equal rows are never parted for nothing, and every cluster has rows."""
    grams = torch.ones(1, 4, 4, dtype=torch.float64)
    found = gram_kmeans(grams, torch.tensor([4]), torch.tensor([1, 3]), torch.tensor([0]), seed=0, restarts=2)
    assert found.labels[0, 0].tolist() == [0, 0, 0, 0]
    assert sorted(set(found.labels[0, 1].tolist())) == list(range(int(found.labels[0, 1].max()) + 1))


@pytest.mark.parametrize("sizes", [*SIZES[:4], [127, 129]], ids=str)
def test_linkage_gives_the_reference_bits(sizes: list[int], device: torch.device) -> None:
    grams, size = grams_of(sizes)
    merges = average_linkage(grams.to(device), size.to(device))
    pairs, likeness = linkage_reference.average_linkage(grams, size)
    assert torch.equal(merges.pairs.cpu(), pairs)
    assert torch.equal(merges.likeness.cpu(), likeness)
    assert bool((likeness.diff(dim=1)[likeness[:, 1:] > -torch.inf] <= 0).all())  # means never rise


def test_linkage_is_that_of_scipy() -> None:
    generator = torch.Generator().manual_seed(2)  # without ties, which programs break in their own ways
    upper = torch.rand(30, 30, dtype=torch.float64, generator=generator).triu(1)
    grams = (upper + upper.T + torch.eye(30, dtype=torch.float64))[None]
    size = torch.tensor([30])
    merges = average_linkage(grams, size)
    tree = linkage(squareform(1 - grams[0].numpy(), checks=False), "average")
    np.testing.assert_allclose(1 - merges.likeness[0].numpy(), tree[:, 2], atol=1e-12)
    counts = torch.tensor([[1, 2, 5, 30]])
    labels = cut(merges, size, counts)
    for place, clusters in enumerate(counts[0].tolist()):
        theirs = fcluster(tree, clusters, "maxclust")
        ours = labels[0, place].tolist()
        assert len(set(ours)) == clusters == len(set(zip(ours, theirs.tolist(), strict=True)))
    assert int(clusters_above(merges, size, 0.5)) == len(set(fcluster(tree, 0.5, "distance").tolist()))


def test_ties_go_to_the_first_rows() -> None:
    merges = average_linkage(torch.full((1, 4, 4), 0.5, dtype=torch.float64), torch.tensor([4]))
    assert merges.pairs[0].tolist() == [[0, 1], [0, 2], [0, 3]]


def test_silhouette_is_that_of_scikit_learn(device: torch.device) -> None:
    grams, size = grams_of([20, 9], seed=3)
    labels = torch.full((2, 3, 20), -1)
    labels[0] = torch.stack([torch.arange(20) % 2, torch.arange(20) % 7, (torch.arange(20) - 12).clamp(min=0)])
    labels[1, :, :9] = torch.stack([torch.zeros(9, dtype=torch.int64), torch.arange(9) % 3, torch.arange(9) // 2])
    scores = partition_scores(*(part.to(device) for part in (grams, size, labels)))
    for group, place in product(range(2), range(3)):
        count = int(size[group])
        gram, given = grams[group, :count, :count], labels[group, place, :count].numpy()
        alone = len(set(given.tolist())) == 1
        expected = 0.0 if alone else silhouette_score(1 - gram.numpy(), given, metric="precomputed")
        assert float(scores.silhouette[group, place]) == pytest.approx(expected, abs=1e-12)
        whole = sum(float(gram[given == c][:, given == c].sum()) ** 0.5 for c in set(given.tolist()))
        assert float(scores.cohesion[group, place]) == pytest.approx(whole, abs=1e-12)
