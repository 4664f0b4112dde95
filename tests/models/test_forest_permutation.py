"""Permutation importances beside a plain loop that permutes, scores and compares; what trees look like, by recounts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from gpuclf.features.rows import CodeRows, SparseRows
from gpuclf.models.forest import permutation as module
from gpuclf.models.forest.anatomy import accuracy_by_rounds, depths, node_counts, splits_by_input, unseen_cells
from gpuclf.models.forest.coded import layout
from gpuclf.models.forest.permutation import dealt, permutation_importances
from tests.models.test_forest import VARIANTS, problem, trained

KEYS = torch.tensor([3, 5, 7])  # of the inputs in the order of the trees


def accuracy(forest: Any, rows: Any, labels: Any) -> float:
    scores = forest.scores(rows, torch.arange(len(labels)), None, None)[0]
    return float((scores.argmax(1) == labels).double().mean())


@pytest.mark.parametrize("at_once", [50, 1 << 17])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_importances_are_those_of_a_plain_loop(
    variant: dict[str, Any], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    made = problem([0])
    assert isinstance(made.rows, CodeRows)
    forest, docs = trained(variant, made), torch.arange(20, 120)
    found = permutation_importances(forest, made.rows, KEYS, made.labels, docs, None, 11, 3, 9)
    part, labels = replace(made.rows, codes=made.rows.codes[docs]), made.labels[docs]
    base = accuracy(forest, part, labels)
    assert found.accuracy == base
    order = layout(made.rows).order.tolist()
    for input, column in enumerate(order):
        for repeat in range(3):
            codes = part.codes.clone()
            codes[:, column] = codes[dealt(100, 11, int(KEYS[input]), repeat, codes.device), column]
            lost = base - accuracy(forest, replace(part, codes=codes), labels)
            assert float(found.lost[input, repeat]) == pytest.approx(lost, abs=1e-12)
    assert bool(found.measured.all())
    assert float(found.mean.max()) > 0.05
    torch.testing.assert_close(found.std, found.lost.std(1))


def test_an_input_that_says_nothing_has_no_importance_on_new_documents() -> None:
    """Grown pure, trees split on the noise and gain by it in training: only new documents tell."""
    draw = torch.Generator().manual_seed(1)
    codes = torch.stack([torch.randint(1, v, (3000,), generator=draw) for v in (9, 9, 90)], 1).to(torch.int32)
    made = problem([2])
    labels = ((codes[:, 0] - 1) // 2).long()
    flips = torch.rand(3000, generator=draw) < 0.1
    labels = torch.where(flips, torch.randint(0, 4, (3000,), generator=draw), labels)
    rows = CodeRows(codes, (10, 10, 100), (), (1, 2, 3))
    train = torch.arange(3000) < 600
    views = replace(made.views, train=train[None])
    own = replace(made, rows=rows, labels=labels, keys=torch.arange(3000), views=views)
    own = replace(own, replicas=replace(made.replicas, view=torch.tensor([0])))
    forest = trained({"splits": "sorted"}, own, 12)
    found = permutation_importances(
        forest, rows, torch.tensor([1, 2, 3]), labels, torch.nonzero(~train).flatten(), None, 0, 5, 9
    )
    gain = forest.gain[0] / forest.gain[0].sum()
    assert float(gain[2]) > 0.1
    assert float(found.mean[0]) > 0.5
    assert abs(float(found.mean[1])) < 0.02
    assert abs(float(found.mean[2])) < 0.05


def test_of_many_inputs_those_that_gained_most_are_measured_and_idle_ones_lose_nothing() -> None:
    made = problem([2])
    assert isinstance(made.rows, CodeRows)
    one = torch.ones(120, 1, dtype=torch.int32)
    rows = CodeRows(torch.cat([made.rows.codes, one], 1), (*made.rows.num_values, 2), (), (7, 3, 5, 4))
    forest = trained({}, replace(made, rows=rows))
    keys = torch.tensor([3, 4, 5, 7])
    found = permutation_importances(forest, rows, keys, made.labels, torch.arange(120), None, 0, 2, 1)
    strongest = int(forest.gain[0].argmax())
    assert found.measured.tolist() == [place in (strongest, 1) for place in range(4)]
    assert not bool(found.lost[1].any())


def test_dealing_is_a_permutation_of_its_own_for_every_seed_input_and_repeat() -> None:
    device = torch.device("cpu")
    drawn = [dealt(200, *of, device) for of in ((0, 3, 0), (1, 3, 0), (0, 4, 0), (0, 3, 1))]
    for one in drawn:
        assert torch.equal(one.sort().values, torch.arange(200))
    assert len({tuple(one.tolist()) for one in drawn}) == 4


def test_a_bag_is_permuted_as_the_presence_of_its_features() -> None:
    """Feature 1 decides; feature 2 stands in every other document and says nothing."""
    col = torch.tensor([c for n in range(80) for c in ([1, 2], [2], [1], [3])[n % 4]], dtype=torch.int32)
    counts = torch.tensor([[2, 1, 1, 1][n % 4] for n in range(80)])
    rows = SparseRows(torch.cat([torch.zeros(1), counts.cumsum(0)]).long(), col, torch.ones(len(col)), 3)
    made = problem([2])
    labels = (torch.arange(80) % 2).long()
    views = replace(made.views, train=torch.ones(1, 80, dtype=torch.bool))
    own = replace(made, rows=rows, labels=labels, keys=torch.arange(80), views=views)
    own = replace(own, replicas=replace(made.replicas, view=torch.tensor([0])))
    forest = trained({"splits": "binary"}, own)
    found = permutation_importances(forest, rows, torch.tensor([1, 2, 3]), labels, torch.arange(80), None, 0, 4, 9)
    assert found.accuracy == 1.0
    assert 0.35 < float(found.mean[0]) < 0.65
    assert not bool(found.lost[1:].any())


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_nodes_depths_and_splits_are_those_of_a_walk(variant: dict[str, Any]) -> None:
    made = problem([2])
    forest = trained(variant, made)
    for tree in range(int(forest.trees[0])):
        seen, deepest, waiting = 0, 0, [(0, 0)]
        input, left = forest.input[0, tree].tolist(), forest.left[0, tree].tolist()
        while waiting:
            node, depth = waiting.pop()
            seen, deepest = seen + 1, max(deepest, depth)
            if input[node] >= 0:
                waiting += [(left[node], depth + 1), (left[node] + 1, depth + 1)]
        assert (int(node_counts(forest)[tree]), int(depths(forest)[tree])) == (seen, deepest)
    assert int(splits_by_input(forest).sum()) == int(((node_counts(forest) - 1) // 2).sum())
    assert len(splits_by_input(forest)) == 3


def test_the_first_rounds_have_the_accuracy_of_so_many() -> None:
    made, docs = problem([0]), torch.arange(120)
    marks, found = accuracy_by_rounds(
        trained(VARIANTS["boosting"], made, 6), made.rows, made.labels, docs, None, (1, 4, 6, 8)
    )
    assert marks == (1, 4, 6)
    for rounds, share in zip(marks, found, strict=True):
        assert share == accuracy(trained(VARIANTS["boosting"], made, rounds), made.rows, made.labels)


def test_values_that_training_had_not_are_counted() -> None:
    made = problem([0])
    forest = trained({}, made)
    train, docs = made.views.train[0], torch.arange(120)
    cells, documents = unseen_cells(forest, made.rows, docs, None)
    assert isinstance(made.rows, CodeRows)
    strange = torch.stack(
        [~torch.isin(made.rows.codes[:, c], made.rows.codes[train, c]) for c in layout(made.rows).order.tolist()], 1
    )
    assert torch.equal(cells, strange.sum(0))
    assert documents == int(strange.any(1).sum()) > 0
