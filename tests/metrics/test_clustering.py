"""Clustering figures against scikit-learn, scipy and counting by hand."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from sklearn import metrics as peer
from torch import Tensor

from gpuclf.metrics.clustering import (
    clustering_confusion,
    clustering_figures,
    commonest_gold,
    type_accuracy,
)


def drawn(seed: int, n: int, tags: int, gold: int, chains: int = 3) -> tuple[Tensor, Tensor]:
    """Tags (R, n) that lean on gold (n,); some items have no gold tag, some tags no item."""
    g = torch.Generator().manual_seed(seed)
    truth = torch.randint(-1, gold, (n,), generator=g)
    noise = torch.randint(0, tags, (chains, n), generator=g)
    keep = torch.rand((chains, n), generator=g) < 0.6
    return torch.where(keep, truth.clamp(min=0) % tags, noise), truth


@pytest.mark.parametrize(
    ("n", "tags", "gold"), [(1, 1, 1), (50, 3, 5), (257, 8, 4), (400, 4, 4), (255, 2, 1), (90, 1, 6)]
)
def test_figures_are_those_of_scikit_learn(n: int, tags: int, gold: int, device: torch.device) -> None:
    induced, truth = drawn(n, n, tags, gold)
    truth[0] = 0
    confusion = clustering_confusion(induced.to(device), truth.to(device), tags, gold)
    figures = clustering_figures(confusion)
    known = truth >= 0
    for r in range(len(induced)):
        a, b = truth[known].numpy(), induced[r, known].numpy()
        h, c, v = peer.homogeneity_completeness_v_measure(a, b)
        assert float(figures.homogeneity[r]) == pytest.approx(h, abs=1e-12)
        assert float(figures.completeness[r]) == pytest.approx(c, abs=1e-12)
        assert float(figures.v_measure[r]) == pytest.approx(v, abs=1e-12)
        table = peer.cluster.contingency_matrix(b, a)
        assert float(figures.many_to_one[r]) == pytest.approx(table.max(1).sum() / len(a), abs=1e-15)
        information = peer.mutual_info_score(a, b)
        entropies = [-sum(p * math.log(p) for p in table.sum(axis) / len(a)) for axis in (0, 1)]
        variation = (sum(entropies) - 2 * information) / math.log(2)
        assert float(figures.variation_of_information[r]) == pytest.approx(variation, abs=1e-9)
        if entropies[0] > 0:
            assert float(figures.nvi[r]) == pytest.approx(variation * math.log(2) / entropies[0], abs=1e-9)
        else:
            assert float(figures.nvi[r]) == pytest.approx(entropies[1] / math.log(2), abs=1e-9)
        assert int(figures.tags_used[r]) == len(set(b.tolist()))


@pytest.mark.parametrize(("tags", "gold"), [(3, 5), (4, 4), (5, 3)])
def test_one_to_one_is_the_best_of_all_assignments(tags: int, gold: int) -> None:
    induced, truth = drawn(tags, 60, tags, gold)
    confusion = clustering_confusion(induced, truth, tags, gold)
    figures = clustering_figures(confusion)
    for r, table in enumerate(confusion):
        wide = table if tags <= gold else table.t()
        best = max(
            sum(int(wide[i, j]) for i, j in enumerate(chosen))
            for chosen in itertools.permutations(range(wide.shape[1]), wide.shape[0])
        )
        assert float(figures.one_to_one[r]) == pytest.approx(best / int(table.sum()))


def test_greedy_takes_the_largest_cell_first() -> None:
    confusion = torch.tensor([[[10, 9], [9, 0]], [[5, 5], [5, 5]], [[0, 0], [0, 3]]])
    figures = clustering_figures(confusion)
    assert figures.one_to_one_greedy.tolist() == pytest.approx([10 / 28, 0.5, 1.0])  # 10 blocks both nines
    assert figures.one_to_one.tolist() == pytest.approx([18 / 28, 0.5, 1.0])
    assert figures.tags_used.tolist() == [2, 2, 1]


def test_nothing_to_measure_is_no_number() -> None:
    figures = clustering_figures(torch.zeros((1, 3, 2), dtype=torch.int64))
    assert all(math.isnan(float(figure[0])) for figure in figures[:-1])
    assert figures.tags_used.tolist() == [0]


def test_a_single_tag_and_a_single_gold_tag_agree_wholly() -> None:
    figures = clustering_figures(torch.tensor([[[7]]]))
    assert [float(figure[0]) for figure in figures] == [1, 1, 1, 1, 1, 1, 0, 0, 1]


def test_types_have_their_commonest_gold_tag() -> None:
    types = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 2, 4])
    gold = torch.tensor([1, 2, 2, 2, 1, 0, -1, -1, 2, -1])
    assert commonest_gold(types, gold, 6, 3).tolist() == [2, 1, 0, -1, -1, -1]


def test_type_accuracy_maps_tags_by_tokens() -> None:
    """Tag 0 is the second gold tag by token though not by type; a tie of tag 1 goes to the lowest."""
    by_token = torch.tensor([[[3, 5], [2, 2]]])
    by_type = torch.tensor([[[4, 1], [2, 1]]])
    assert type_accuracy(by_token, by_type).tolist() == pytest.approx([3 / 8])


def test_confusions_add_up_and_one_clustering_needs_no_axis() -> None:
    induced, truth = drawn(1, 100, 4, 3)
    whole = clustering_confusion(induced, truth, 4, 3)
    parts = [clustering_confusion(induced[:, some], truth[some], 4, 3) for some in (slice(0, 37), slice(37, None))]
    assert torch.equal(whole, parts[0] + parts[1])
    assert torch.equal(clustering_confusion(induced[1], truth, 4, 3), whole[1])
    assert int(whole[0].sum()) == int((truth >= 0).sum())
