"""Numbers of forests: quantile bins of a replica's training rows, and missing numbers where they gain most."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.estimators.columns import ColumnCoder
from gpuclf.features.rows import CodeRows, Views
from gpuclf.models.forest.anatomy import unseen_cells
from gpuclf.models.forest.coded import Layout
from gpuclf.models.forest.numbers import number_bins, widened
from gpuclf.models.forest.options import ForestOptions
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.forest_votes import MISSING_LEFT, MISSING_RIGHT, MISSING_UNSEEN
from gpuclf.ops.grow_forest import GrowthRules, Table, Trees, cpu, cuda, grow_forest, reference, tree_keys
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.loop import BatchLoop
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor

CLASSES, DOCS = 3, 150
VARIANTS: dict[str, dict[str, Any]] = {
    "composed": {"n_bins": 8},
    "sorted": {"splits": "sorted", "max_features": 2, "n_bins": 16, "unseen": "weighted"},
    "unbinned": {"splits": "binary", "bootstrap": True},
    "boosting": {"boosting": True, "min_child_weight": 0.1, "n_bins": 8},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)


def cells(seed: int = 0) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """X (docs, 3): two numbers of which a fifth is missing (one never in fold 0's training rows), a category; y."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(DOCS, 3))
    y = (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.3)
    X[:, 2] = draw.integers(0, 4, DOCS)
    X[draw.random(DOCS) < 0.2, 0] = np.nan
    X[(draw.random(DOCS) < 0.5) & (np.arange(DOCS) % 3 != 0), 1] = np.nan
    return X, y


def problem(rows: CodeRows, y: NDArray[np.int64], views: list[int], docs: Tensor | None = None) -> Problem:
    docs = torch.arange(DOCS) if docs is None else docs
    fold = torch.arange(DOCS) % 3 == 0
    train = torch.stack([fold, ~fold, torch.ones(DOCS, dtype=torch.bool)])[:, docs]
    replicas = Replicas(torch.tensor(views), torch.zeros(len(views), dtype=torch.int64))
    return Problem(rows, torch.from_numpy(y)[docs], docs * 31, CLASSES, Views(train), replicas)


def coder() -> ColumnCoder:
    return ColumnCoder(np.array([False, False, True]))


def trained(variant: dict[str, Any], made: Problem) -> Any:
    chosen, train = ForestOptions.model_validate({"n_estimators": 6, **variant}), TrainOptions()
    learner = chosen.build(train, [str(k) for k in range(CLASSES)])
    return BatchLoop(learner, made, train, chosen.max_steps(train)).run(lambda report, loop: None).predictor


def scores(predictor: Any, rows: CodeRows) -> Tensor:
    found: Tensor = predictor.scores(rows, torch.arange(rows.num_docs), None, None)
    return found


@every_variant
def test_a_fold_is_what_a_file_of_its_rows_alone_gives(variant: dict[str, Any]) -> None:
    """Held-out numbers move no cut, be they between, above or below those of the fold, and held-out gaps no row."""
    X, y = cells()
    whole, part = coder(), coder()
    rows, docs = whole.fit(X, "test"), torch.arange(0, DOCS, 3)
    fold = scores(trained(variant, problem(rows, y, [0])), rows)
    own = part.fit(X[::3], "test")
    alone = trained(variant, problem(own, y, [2], docs))
    torch.testing.assert_close(fold, scores(alone, part.codes(X, "test")), rtol=0, atol=0)


@every_variant
def test_a_replica_is_what_it_is_alone_and_outlives_its_file(variant: dict[str, Any]) -> None:
    X, y = cells()
    rows = coder().fit(X, "test")
    made = problem(rows, y, [0, 1, 2])
    together = trained(variant, made)
    for place in range(3):
        index = torch.tensor([place])
        alone = trained(variant, replace(made, replicas=made.replicas.take(index)))
        one = take_replicas(together, index)
        torch.testing.assert_close(scores(one, rows), scores(alone, rows), rtol=0, atol=0)
    tensors, about = pack_predictor(together)
    again = unpack_predictor(tensors, about, torch.device("cpu"))
    torch.testing.assert_close(scores(again, rows), scores(together, rows), rtol=0, atol=0)


@every_variant
def test_a_resumed_run_has_the_same_bits(variant: dict[str, Any]) -> None:
    X, y = cells()
    rows = coder().fit(X, "test")
    made, train, saved = problem(rows, y, [0, 2]), TrainOptions(), list[Checkpoint]()
    chosen = ForestOptions.model_validate({"n_estimators": 6, "trees_per_step": 2, **variant})

    def loop() -> BatchLoop:
        return BatchLoop(chosen.build(train, [str(k) for k in range(CLASSES)]), made, train, chosen.max_steps(train))

    def keep(report: object, running: BatchLoop) -> None:
        if running.step == 1:
            point = running.checkpoint()
            saved.append(Checkpoint({k: v.clone() for k, v in point.tensors.items()}, point.values))

    whole: Any = loop().run(keep).predictor
    again = loop()
    again.resume(saved[0])
    resumed: Any = again.run(lambda report, running: None).predictor
    torch.testing.assert_close(scores(resumed, rows), scores(whole, rows), rtol=0, atol=0)


@every_variant
def test_missing_numbers_say_what_they_say(variant: dict[str, Any]) -> None:
    """The class is whether a number is there, and how large: the trees find both, and no cell is unseen."""
    X, _ = cells(3)
    y = np.where(np.isnan(X[:, 0]), 2, (X[:, 0] > 0.1).astype(np.int64))
    rows = coder().fit(X, "test")
    predictor = trained({**variant, "n_estimators": 24}, problem(rows, y, [2]))
    right = scores(predictor, rows)[0].argmax(1).numpy() == y
    assert right[y == 2].mean() > 0.9
    assert right.mean() > 0.9
    found, documents = unseen_cells(predictor, rows, torch.arange(DOCS), None)
    assert (found.tolist(), documents) == ([0, 0, 0], 0)


@every_variant
def test_one_row_and_nothing_but_missing_numbers(variant: dict[str, Any]) -> None:
    one = coder()
    rows = one.fit(np.array([[np.nan, 1.0, 0.0]]), "test")
    y, docs = np.zeros(DOCS, np.int64), torch.tensor([0])
    found = scores(trained(variant, problem(rows, y, [2], docs)), one.codes(np.array([[5.0, np.nan, 7.0]]), "test"))
    assert found[0].argmax(1).tolist() == [0]
    X, y = cells()
    X[:, 0] = np.nan
    none = coder()
    rows = none.fit(X, "test")
    assert rows.num_values[0] == 1
    predictor = trained(variant, problem(rows, y, [2]))
    assert float(predictor.gain[0, 0]) == 0.0
    X[:, 0] = 3.0
    torch.testing.assert_close(scores(predictor, none.codes(X, "test")), scores(predictor, rows), rtol=0, atol=0)


RULES = {
    "composed": GrowthRules(),
    "lazy": GrowthRules(relevant="lazy", recount_below=12),
    "sorted": GrowthRules(splits="sorted", max_features=2),
    "gini": GrowthRules(splits="sorted", criterion="gini", min_samples_leaf=2),
    "extra": GrowthRules(splits="binary", extra_trees=True, max_features=3),
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("program", [cpu, cuda], ids=["kernel", "levels"])
def test_trees_with_missing_numbers_equal_those_of_the_reference(program: Any, rules: GrowthRules) -> None:
    X, y = cells(1)
    rows = coder().fit(X, "test")
    wide = widened(rows.codes, rows.num_values, rows.ordered, torch.ones(DOCS, dtype=torch.bool))
    about = {
        "table": wide.table, "labels": torch.from_numpy(y), "weight": torch.ones(1, DOCS, dtype=torch.int32),
        "sample": torch.zeros(4, dtype=torch.int64), "class_weight": torch.ones(1, CLASSES, dtype=torch.int64),
        "keys": tree_keys(torch.tensor(1), torch.arange(4)), "rules": rules,
    }  # fmt: skip
    found, expected = (wide.narrowed(grow(**about)) for grow in (program.grow_forest, reference.grow_forest))
    for item in fields(found):
        torch.testing.assert_close(getattr(found, item.name), getattr(expected, item.name), rtol=1e-6, atol=1e-6)
    kinds = found.size[(found.input >= 0) & (found.size < 0)]
    assert {MISSING_LEFT, MISSING_RIGHT} <= set(kinds.tolist())
    assert int(found.input.max()) <= 2


def stump(codes: list[int], labels: list[int], values: int) -> Trees:
    """The best cut of one number."""
    column = torch.tensor(codes, dtype=torch.int32)[:, None]
    member = torch.ones(len(codes), dtype=torch.bool)
    wide = widened(column, (values,), (True,), member)
    trees = grow_forest(
        wide.table, torch.tensor(labels), member[None].int(), torch.zeros(1, dtype=torch.int64),
        torch.ones(1, 2, dtype=torch.int64), torch.zeros(1, dtype=torch.int64),
        GrowthRules(splits="sorted", max_depth=1),
    )  # fmt: skip
    return wide.narrowed(trees)


def test_a_cut_sends_missing_numbers_to_the_side_that_gains_most() -> None:
    def said(codes: list[int], labels: list[int]) -> tuple[int, int]:
        trees = stump(codes, labels, 5)
        return int(trees.first[0, 0]), int(trees.size[0, 0])

    assert said([0, 1, 2, 3, 4], [0, 0, 0, 1, 1]) == (2, MISSING_LEFT)
    assert said([0, 1, 2, 3, 4], [1, 0, 0, 1, 1]) == (2, MISSING_RIGHT)
    assert said([0, 0, 1, 2, 3], [1, 1, 0, 0, 0]) == (0, MISSING_LEFT)  # they alone go left
    assert said([1, 2, 3, 4], [0, 0, 1, 1]) == (2, MISSING_UNSEEN)


def test_numbers_beyond_those_of_training_are_numbers_to_a_cut_against_missing_ones() -> None:
    """Code 3 and 4 are held-out rows': wherever all of 1 and 2 are parted from 0, they go with these."""
    codes = torch.tensor([[0], [0], [1], [2], [3], [4]], dtype=torch.int32)
    member = torch.arange(6) < 4
    wide = widened(codes, (5,), (True,), member)
    trees = wide.narrowed(
        grow_forest(
            wide.table, torch.tensor([1, 1, 0, 0, 0, 0]), member[None].int(), torch.zeros(40, dtype=torch.int64),
            torch.ones(1, 2, dtype=torch.int64), tree_keys(torch.tensor(0), torch.arange(40)), GrowthRules(),
        )
    )  # fmt: skip
    right = trees.first[:, 0][trees.size[:, 0] == MISSING_RIGHT].tolist()
    assert set(right) == {1, 4}


@every_variant
def test_there_are_no_more_thresholds_than_bins(variant: dict[str, Any]) -> None:
    X, y = cells()
    rows = coder().fit(X, "test")
    predictor = trained({**variant, "n_estimators": 24}, problem(rows, y, [2]))
    for number in (0, 1):
        found = predictor.first[(predictor.input == number) & (predictor.size < 0) & (predictor.first > 0)]
        cuts = len(found[found < rows.num_values[number] - 1].unique())
        if "n_bins" in variant:
            assert 2 <= cuts < variant["n_bins"]
        else:
            assert cuts > 16


def entropy(labels: NDArray[np.int64]) -> float:
    counts = np.bincount(labels)
    counts = counts[counts > 0]
    return float((counts * np.log2(len(labels) / counts)).sum())


def test_no_cut_on_either_side_gains_more_than_the_one_taken() -> None:
    draw = np.random.default_rng(5)
    for _ in range(40):
        codes, labels = draw.integers(0, 7, 25), draw.integers(0, 2, 25)
        best = 0.0
        for cut in range(7):
            for goes in (codes <= cut, (codes <= cut) & (codes > 0)):
                if 0 < goes.sum() < len(codes):
                    best = max(best, entropy(labels) - entropy(labels[goes]) - entropy(labels[~goes]))
        assert float(stump(codes.tolist(), labels.tolist(), 7).gain.sum()) == pytest.approx(best, abs=1e-6)


def bins_of(column: Tensor, most: int, times: Tensor | None = None, values: int | None = None) -> Tensor:
    """(docs,) the codes of one number after binning."""
    inputs = Layout(torch.zeros(1, dtype=torch.int64), (values or int(column.max()) + 1,), (True,))
    times = torch.ones_like(column) if times is None else times
    return number_bins(column.int()[:, None], times, inputs, most)[column].long()


def test_ten_thousand_numbers_are_256_bins_of_like_size() -> None:
    binned = bins_of(torch.randperm(10_000, generator=torch.Generator().manual_seed(0)) + 1, 256)
    values, counts = binned.unique(return_counts=True)
    assert len(values) == 256
    assert set(counts.tolist()) == {39, 40}
    assert int(values[-1]) == 10_000


def test_bins_keep_order_missing_numbers_and_few_numbers() -> None:
    few = torch.tensor([0, 3, 3, 1, 9, 0])
    assert torch.equal(bins_of(few, 3), few)
    column = torch.randint(0, 60, (400,), generator=torch.Generator().manual_seed(2))
    binned = bins_of(column, 7)
    assert torch.equal(binned == 0, column == 0)
    order = column.argsort()
    assert bool((binned[order].diff() >= 0).all())
    assert len(binned[binned > 0].unique()) <= 7
    assert bool((binned >= column).all())
    assert torch.equal(bins_of(torch.zeros(5, dtype=torch.int64), 4, values=3), torch.zeros(5, dtype=torch.int64))


def test_bins_know_training_rows_alone_and_a_weight_is_so_many_rows() -> None:
    column = torch.randint(1, 60, (300,), generator=torch.Generator().manual_seed(2))
    times = torch.arange(300) % 3
    again = column.repeat_interleave(times)
    expected = bins_of(again, 8, values=60)
    assert torch.equal(bins_of(column, 8, times, 60).repeat_interleave(times), expected)


def test_a_table_without_missing_numbers_is_grown_as_it_stands() -> None:
    codes = torch.randint(1, 9, (30, 2), generator=torch.Generator().manual_seed(1)).int()
    wide = widened(codes, (9, 9), (True, False), torch.ones(30, dtype=torch.bool))
    assert wide.table == Table(wide.table.codes, (9, 9), (True, False))
    assert torch.equal(wide.table.codes, codes)
    codes[4] = 0  # a category that is unseen is no missing number
    assert widened(codes, (9, 9), (True, False), torch.arange(30)).owner.tolist() == [0, 1, 0]
