"""Strength, correlation and bound of a forest beside their definitions, in float64 with all votes at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.features.rows import CodeRows
from gpuclf.models.forest import margins as module
from gpuclf.models.forest.margins import LoneForest, left_out_of_bags, margins
from gpuclf.models.forest.predictor import TIE_MASS
from gpuclf.models.forest.samples import bootstrap_weights
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.grow_forest import tree_keys
from tests.models.test_forest import CLASSES, options, problem, trained

TREES = 6
FORESTS: dict[str, dict[str, Any]] = {
    "unit": {"max_depth": 3},
    "soft": {"vote": "soft", "splits": "sorted", "max_features": 1, "min_samples_leaf": 9},
    "weighted": {"unseen": "weighted", "min_value_count": 4},
    "bag": {"bootstrap": True, "splits": "sorted", "unseen": "majority"},
}


def easy(view: int) -> Any:
    """The problem with classes that the first input tells."""
    made = problem([view])
    assert isinstance(made.rows, CodeRows)
    return replace(made, labels=(made.rows.codes[:, 0] // 5).long())


def all_votes(forest: Any, made: Any) -> Tensor:
    """(T, docs, K) float64."""
    lone, docs = LoneForest(forest, made.rows), torch.arange(made.labels.numel())
    codes = lone.codes(made.rows, docs, None)
    return torch.stack([lone.votes(codes, docs, tree) for tree in range(TREES)])


def by_definition(votes: Tensor, labels: Tensor, may: Tensor, tie: Tensor) -> tuple[float, float, float, float]:
    """accuracy, s, ρ̄, bound of Breiman 2001: document by document, tree by tree."""
    accuracy, margin, raw = [], [], [[] for _ in range(TREES)]  # type: ignore[var-annotated]
    for doc, label in enumerate(labels.tolist()):
        voters = [tree for tree in range(TREES) if may[tree, doc]]
        if not voters:
            continue
        share = votes[voters, doc].mean(0)
        rival = max((k for k in range(CLASSES) if k != label), key=lambda k: float(share[k] + 1e-9 * tie[k]))
        accuracy.append(float((share * len(voters) + TIE_MASS * tie).argmax() == label))
        margin.append(float(share[label] - share[rival]))
        for tree in voters:
            raw[tree].append(float(votes[tree, doc, label] - votes[tree, doc, rival]))
    strength = sum(margin) / len(margin)
    variance = sum((m - strength) ** 2 for m in margin) / len(margin)
    spreads = [float(torch.tensor(r, dtype=torch.float64).std(correction=0)) for r in raw]
    correlation = variance / (sum(spreads) / TREES) ** 2
    return sum(accuracy) / len(accuracy), strength, correlation, correlation * (1 - strength**2) / strength**2


@pytest.mark.parametrize("portion", [7, 1 << 14])
@pytest.mark.parametrize("name", FORESTS)
def test_figures_are_those_of_the_definition(name: str, portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DOCS", portion)
    made = easy(2) if name == "bag" else problem([2])
    forest = trained(FORESTS[name], made, TREES)
    docs, may = torch.arange(120), None
    if name == "bag":
        may = left_out_of_bags(torch.ones(120, dtype=torch.bool), 0, TREES)
    found = margins(forest, made.rows, made.labels, docs, None, may, marks=range(1, TREES + 1))
    voters = torch.ones(TREES, 120, dtype=torch.bool) if may is None else may
    expected = by_definition(all_votes(forest, made), made.labels, voters, forest.tie[0])
    assert (found.accuracy, found.strength, found.correlation, found.bound) == pytest.approx(expected, rel=1e-9)
    assert found.documents == int(voters.any(0).sum())
    assert found.trees == tuple(range(1, TREES + 1))
    assert found.accuracies[-1] == found.accuracy


def test_the_first_trees_have_the_accuracy_of_a_forest_of_so_many() -> None:
    made = problem([0])
    many = margins(trained({}, made, TREES), made.rows, made.labels, torch.arange(120), marks=(2, 4, 99))
    assert many.trees == (2, 4)
    for trees, accuracy in zip(many.trees, many.accuracies, strict=True):
        few = trained({}, made, trees).scores(made.rows, torch.arange(120), None, None)[0]
        assert accuracy == float((few.argmax(1) == made.labels).double().mean())


def test_out_of_bag_are_the_rows_that_the_samples_of_growth_left_out() -> None:
    """The learner's own figure, of votes taken while it grew, is the same number."""
    made = easy(1)
    member = made.views.train[1]
    out = left_out_of_bags(member, 0, TREES)
    weight = bootstrap_weights(member, tree_keys(torch.tensor(0), torch.arange(TREES)))
    assert torch.equal(out, (weight == 0) & member)
    learner: Any = options({"bootstrap": True}, TREES).build(TrainOptions(), [])
    state = learner.init(made)
    while not bool(learner.finished(made, state).all()):
        state = learner.step(made, state)
    found = margins(learner.result(made, state), made.rows, made.labels, torch.nonzero(member).flatten(), None, out)
    assert found.documents == int(out.any(0).sum()) < int(member.sum())
    assert found.accuracy == float(learner.progress(made, state)["oob_accuracy"])
    assert 0.3 < found.accuracy < 1.0


def test_a_label_that_the_forest_does_not_know_is_never_voted_for() -> None:
    made = problem([2])
    forest = trained({"max_depth": 2}, made, TREES)
    docs = torch.arange(120)
    for strange in (-1, CLASSES):
        found = margins(forest, made.rows, torch.full((120,), strange), docs)
        assert (found.accuracy, found.bound) == (0.0, None)
        assert found.strength < 0


def test_trees_that_are_all_alike_have_no_correlation() -> None:
    made = problem([2])
    forest = trained({"min_samples_split": 999}, made, TREES)
    found = margins(
        forest, made.rows, torch.zeros(120, dtype=torch.int64) + int(forest.tie[0].argmax()), docs := torch.arange(120)
    )
    assert (found.accuracy, found.strength, found.correlation, found.bound) == (1.0, 1.0, None, None)
    assert docs.numel() == found.documents
