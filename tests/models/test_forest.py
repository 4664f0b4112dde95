"""Forests as learners: replicas, samples from training rows only, votes, rare classes, and boosting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.features.rows import CodeRows, Views
from gpuclf.models.forest.boosting import Boosting
from gpuclf.models.forest.coded import layout
from gpuclf.models.forest.options import ForestOptions
from gpuclf.models.forest.samples import ValueReduction, bootstrap_weights, class_weights, tie_order, value_mapping
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.grow_forest import tree_keys
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.loop import BatchLoop
from gpuclf.train.predictor_pack import pack_predictor

VALUES, CLASSES = (20, 6, 40), 4
VARIANTS: dict[str, dict[str, Any]] = {
    "composed": {},
    "lazy": {"relevant": "lazy"},
    "sorted": {"splits": "sorted", "max_features": 2, "vote": "soft"},
    "bootstrap": {"bootstrap": True, "class_weight": "balanced", "unseen": "weighted"},
    "reduced": {"merge_pure_values": True, "min_value_count": 2, "unseen": "majority"},
    "boosting": {"boosting": True, "min_child_weight": 0.1, "l2": 1.0},
    "boosting_sampled": {"boosting": True, "min_child_weight": 0.1, "l2": 1.0, "gradient_sampling": 0.4},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)


def problem(views: list[int], docs: Tensor | None = None, columns: tuple[int, ...] = (0, 1, 2)) -> Problem:
    """Two folds (views 0 and 1) and all rows (view 2) of a table; `docs` chooses rows, `columns` orders inputs."""
    draw = torch.Generator().manual_seed(0)
    codes = torch.stack([torch.randint(1, v, (120,), generator=draw) for v in VALUES], 1).to(torch.int32)
    labels = (codes[:, 0] // 6 + (codes[:, 1] > 3) + torch.randint(0, 2, (120,), generator=draw)) % CLASSES
    fold = torch.arange(120) % 3 == 0
    train = torch.stack([fold, ~fold, torch.ones(120, dtype=torch.bool)])
    docs = torch.arange(120) if docs is None else docs
    rows = CodeRows(
        codes[docs][:, list(columns)], tuple(VALUES[c] for c in columns), (), tuple((7, 3, 5)[c] for c in columns)
    )
    replicas = Replicas(torch.tensor(views), torch.arange(len(views)) % 2)
    return Problem(rows, labels[docs].long(), docs * 31, CLASSES, Views(train[:, docs]), replicas)


def options(variant: dict[str, Any], trees: int = 6) -> ForestOptions:
    return ForestOptions.model_validate({"n_estimators": trees, "trees_per_step": 2, **variant})


def trained(variant: dict[str, Any], made: Problem, trees: int = 6) -> Any:
    chosen, train = options(variant, trees), TrainOptions()
    learner = chosen.build(train, [str(k) for k in range(CLASSES)])
    return BatchLoop(learner, made, train, chosen.max_steps(train)).run(lambda report, loop: None).predictor


def scores(predictor: Any, made: Problem) -> Tensor:
    found: Tensor = predictor.scores(made.rows, torch.arange(made.labels.numel()), None, None)
    return found


@every_variant
def test_a_replica_is_what_it_is_alone(variant: dict[str, Any]) -> None:
    made = problem([0, 1, 2, 2])
    together = trained(variant, made)
    for place in range(4):
        index = torch.tensor([place])
        alone = trained(variant, replace(made, replicas=made.replicas.take(index)))
        one, other = pack_predictor(alone)[0], pack_predictor(take_replicas(together, index))[0]
        for name in one:
            torch.testing.assert_close(one[name], other[name], rtol=0, atol=0)


@every_variant
def test_a_fold_is_what_its_rows_alone_give(variant: dict[str, Any]) -> None:
    """Values that only held-out rows have act as unseen ones."""
    fold = problem([0])
    alone = problem([2], docs=torch.nonzero(fold.views.train[0]).flatten())
    torch.testing.assert_close(
        scores(trained(variant, fold), fold), scores(trained(variant, alone), fold), rtol=0, atol=0
    )


@every_variant
def test_the_order_of_columns_does_not_matter(variant: dict[str, Any]) -> None:
    plain, mixed = problem([2]), problem([2], columns=(2, 0, 1))
    torch.testing.assert_close(
        scores(trained(variant, plain), plain), scores(trained(variant, mixed), mixed), rtol=0, atol=0
    )


@every_variant
def test_the_first_trees_of_many_are_the_trees_of_few(variant: dict[str, Any]) -> None:
    made = problem([2])
    few, many = trained(variant, made, 4), trained(variant, made, 8)
    trees = few.input.shape[1]
    for name in ("input", "left", "first", "size"):
        one, other = getattr(few, name), getattr(many, name)[:, :trees, : few.input.shape[2]]
        assert torch.equal(one[few.input != -2], other[few.input != -2])


@every_variant
def test_a_resumed_run_has_the_same_bits(variant: dict[str, Any]) -> None:
    made, chosen, train = problem([0, 2]), options(variant), TrainOptions()
    saved: list[Checkpoint] = []

    def loop() -> BatchLoop:
        return BatchLoop(chosen.build(train, [str(k) for k in range(CLASSES)]), made, train, chosen.max_steps(train))

    def keep(report: object, running: BatchLoop) -> None:
        if running.step == 1:
            point = running.checkpoint()
            saved.append(Checkpoint({k: v.clone() for k, v in point.tensors.items()}, point.values))

    whole = loop().run(keep).predictor
    again = loop()
    again.resume(saved[0])
    torch.testing.assert_close(
        scores(again.run(lambda report, running: None).predictor, made), scores(whole, made), rtol=0, atol=0
    )


@every_variant
def test_scores_are_log_probabilities_and_fit_the_training_rows(variant: dict[str, Any]) -> None:
    made = problem([2])
    found = scores(trained(variant, made, 24), made)
    p = found.softmax(-1)
    assert float((found[0].argmax(1) == made.labels).double().mean()) > 0.75
    torch.testing.assert_close(p.sum(-1), torch.ones(1, 120))
    if not variant.get("boosting"):
        torch.testing.assert_close(found.exp(), p)


@every_variant
def test_classes_of_one_to_fifteen_rows_stay_finite(variant: dict[str, Any]) -> None:
    made = problem([2])
    labels = torch.zeros(120, dtype=torch.int64)
    labels[:1], labels[1:5] = 1, 2  # class 3 has none
    made = replace(made, labels=labels)
    found = scores(trained(variant, made, 24), made)[0]
    assert not bool(torch.isnan(found).any())
    assert float((found.argmax(1) == labels).double().mean()) >= 115 / 120
    assert bool((found.argmax(1) != 3).all())


def test_bootstrap_draws_as_many_rows_as_there_are() -> None:
    member = torch.arange(300) % 4 != 0
    weight = bootstrap_weights(member, tree_keys(torch.tensor(1), torch.arange(50)))
    assert bool((weight.sum(1) == member.sum()).all())
    assert not bool(weight[:, ~member].any())
    left_out = (weight[:, member] == 0).double().mean()
    assert float(left_out) == pytest.approx((1 - 1 / 225) ** 225, abs=0.01)


def test_balanced_classes_weigh_the_same() -> None:
    counts = torch.tensor([[90, 30, 10, 0]])
    weights = class_weights(counts, "balanced")
    total = (weights * counts)[0, :3].double()
    assert float(total.max() / total.min()) < 1.02
    assert torch.equal(class_weights(counts, None), torch.ones(1, 4, dtype=torch.int64))
    given = class_weights(counts, (1.0, 2.0, 1.0, 5.0))
    assert given[0, 1] == 2 * given[0, 0]


def test_values_of_one_class_become_one_and_rare_ones_unseen() -> None:
    codes = torch.tensor([[1], [1], [2], [3], [3], [4], [5], [5]], dtype=torch.int32)
    labels = torch.tensor([0, 0, 0, 1, 0, 0, 1, 1])
    inputs = layout(CodeRows(codes, (7,)))
    member = torch.ones(8, dtype=torch.bool)
    merged = value_mapping(codes, labels, member, inputs, ValueReduction(merge_pure=True), 2)
    assert merged.tolist() == [0, 1, 1, 3, 1, 5, 0]
    rare = value_mapping(codes, labels, member, inputs, ValueReduction(min_count=2), 2)
    assert rare.tolist() == [0, 1, 0, 3, 0, 5, 0]


def test_ties_of_votes_go_to_the_class_most_frequent_in_training() -> None:
    tie = tie_order(torch.tensor([[3, 10, 0, 10]]))[0]
    assert tie.argsort(descending=True, stable=True).tolist() == [1, 3, 0, 2]
    assert float(tie[2]) == 0.0
    assert float(tie.sum()) == pytest.approx(1.0)


def test_boosting_tries_half_of_the_inputs_but_two() -> None:
    assert [len(Boosting()._chosen(inputs, seed=0, number=5)) for inputs in (1, 2, 3, 7)] == [1, 2, 2, 3]
