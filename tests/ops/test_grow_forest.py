"""Growth of trees: the kernels equal the slow reference draw by draw, and the laws of a forest hold."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from gpuclf.ops.forest_votes import Forests, forest_votes
from gpuclf.ops.grow_forest import GrowthRules, Table, Trees, cpu, cuda, grow_forest, reference, tree_keys
from gpuclf.ops.grow_forest.records import LEAF

RULES = {
    "composed": GrowthRules(),
    "composed_wide": GrowthRules(subset="sqrt", candidates="log", criterion="gini"),
    "composed_half": GrowthRules(subset="half", candidates="sqrt", candidate_factor=3.5),
    "composed_fixed": GrowthRules(subset=3, candidates=4, max_depth=3, min_samples_leaf=2),
    "composed_lazy": GrowthRules(relevant="lazy", recount_below=12),
    "composed_lazy_wide": GrowthRules(relevant="lazy", recount_below=1, subset="half", candidates="log"),
    "composed_lazy_few": GrowthRules(relevant="lazy", recount_below=4, candidates=1, min_samples_leaf=3),
    "sorted": GrowthRules(splits="sorted", max_features=2),
    "sorted_gini": GrowthRules(splits="sorted", criterion="gini", smoothing=0.0, min_samples_split=5),
    "sorted_projection": GrowthRules(splits="sorted", order="projection", min_category_rows=2, max_prefix=3),
    "sorted_extra": GrowthRules(splits="sorted", extra_trees=True, max_features=3),
    "binary": GrowthRules(splits="binary", min_samples_leaf=2),
    "binary_extra": GrowthRules(splits="binary", extra_trees=True, max_features=2),
}


def given(
    seed: int = 0, docs: int = 150, values: tuple[int, ...] = (3, 40, 12, 2, 9), classes: int = 5
) -> dict[str, Any]:
    """A table with three samples (all rows, a fold, a bootstrap) and eight trees over them; classes are noisy."""
    draw = torch.Generator().manual_seed(seed)
    codes = torch.stack([torch.randint(0, v, (docs,), generator=draw) for v in values], 1)
    labels = (codes[:, 1] // 9 + (codes[:, 2] > 5) + torch.randint(0, 2, (docs,), generator=draw)) % classes
    weight = torch.ones(3, docs, dtype=torch.int32)
    weight[1, ::3] = 0
    weight[2] = torch.bincount(torch.randint(0, docs, (docs,), generator=draw), minlength=docs)
    class_weight = torch.ones(3, classes, dtype=torch.int64)
    class_weight[1] = torch.arange(1, classes + 1)
    return {
        "table": Table(codes.to(torch.int32), values, tuple(i == 4 for i in range(len(values)))),
        "labels": labels,
        "weight": weight,
        "sample": torch.arange(8) % 3,
        "class_weight": class_weight,
        "keys": tree_keys(torch.tensor(7), torch.arange(8)),
    }


def same(left: Trees, right: Trees) -> None:
    for item in fields(left):
        one, other = getattr(left, item.name), getattr(right, item.name)
        if item.name == "gain":
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)
        else:
            assert torch.equal(one.cpu(), other.cpu()), item.name


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("program", [cpu, cuda], ids=["kernel", "levels"])
def test_trees_equal_those_of_the_reference_draw_by_draw(program: Any, rules: GrowthRules) -> None:
    problem = given()
    same(program.grow_forest(**problem, rules=rules), reference.grow_forest(**problem, rules=rules))


@pytest.mark.parametrize("program", [cpu, cuda], ids=["kernel", "levels"])
def test_lazy_relevance_is_exact_where_every_node_counts_and_only_there(program: Any) -> None:
    problem, exact = given(), GrowthRules()
    trees = program.grow_forest(**problem, rules=exact)
    same(program.grow_forest(**problem, rules=replace(exact, relevant="lazy", recount_below=400)), trees)
    lazy = program.grow_forest(**problem, rules=replace(exact, relevant="lazy", recount_below=10))
    assert not torch.equal(lazy.nodes, trees.nodes)
    assert torch.equal(lazy.input[:, 0], trees.input[:, 0])  # the root counts


def test_a_node_that_has_not_halved_goes_by_the_list_of_its_parent() -> None:
    """Two thirds of the rows are left of the root's split, on two of three values: the third is still drawn there."""
    codes = torch.tensor([0, 0, 1, 1, 2, 2], dtype=torch.int32)[:, None]
    labels = torch.tensor([0, 1, 2, 3, 4, 4])
    table = Table(codes, (3,), (False,))
    many = one_sample(6, 5, 300)
    rules = GrowthRules(subset=1, candidates=1, max_depth=2, relevant="lazy", recount_below=1)
    for program in (cpu, cuda, reference):
        trees = program.grow_forest(table, labels, *many, rules)
        assert bool((trees.input[:, 2] == 0).all())  # where the absent value is drawn, the node counts and draws anew
        child = trees.values.gather(1, trees.first[:, 2:3].long())
        assert bool((child != trees.values[:, :1]).all())


def test_a_tree_does_not_depend_on_how_many_are_grown_nor_on_threads() -> None:
    problem = given()
    everyone = grow_forest(**problem, rules=RULES["composed"])
    few = grow_forest(**problem | {name: problem[name][2:5] for name in ("sample", "keys")}, rules=RULES["composed"])
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        same(everyone, grow_forest(**problem, rules=RULES["composed"]))
    finally:
        torch.set_num_threads(threads)
    for number in range(3):
        nodes = int(few.nodes[number])
        assert nodes == everyone.nodes[number + 2]
        for name in ("input", "left", "first", "size", "rows"):
            assert torch.equal(getattr(few, name)[number, :nodes], getattr(everyone, name)[number + 2, :nodes])


@pytest.mark.parametrize("rules", [GrowthRules(), GrowthRules(splits="sorted"), GrowthRules(splits="binary")])
def test_one_value_a_row_gives_pure_leaves(rules: GrowthRules) -> None:
    docs = 257
    draw = torch.Generator().manual_seed(1)
    labels = torch.randint(0, 7, (docs,), generator=draw)
    table = Table(torch.arange(docs, dtype=torch.int32)[:, None], (docs,), (False,))
    trees = grow_forest(table, labels, *one_sample(docs, 7, 2), rules)
    assert bool((trees.size[trees.input == LEAF] == 0).all())
    leaves = votes(trees, table, 7)
    assert torch.equal(leaves.argmax(1), labels)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_duplicated_rows_change_nothing_but_counts(rules: GrowthRules) -> None:
    rules = replace(rules, min_samples_leaf=1, min_samples_split=2, smoothing=0.0, min_category_rows=1)
    rules = replace(rules, recount_below=1)
    problem = given()
    once = grow_forest(**problem, rules=rules)
    table = Table(problem["table"].codes.repeat(2, 1), problem["table"].num_values, problem["table"].ordered)
    doubled = problem | {
        "table": table,
        "labels": problem["labels"].repeat(2),
        "weight": problem["weight"].repeat(1, 2),
    }
    twice = grow_forest(**doubled, rules=rules)
    for name in ("nodes", "input", "left", "first", "size"):
        assert torch.equal(getattr(once, name), getattr(twice, name)), name
    assert torch.equal(2 * once.rows, twice.rows)
    heavier = grow_forest(**problem | {"weight": 2 * problem["weight"]}, rules=rules)
    same(heavier, twice)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_entropy_never_rises_along_a_path(rules: GrowthRules) -> None:
    """Σ over the leaves of n · H(leaf) is at most n · H(root), and the gains account for the difference."""
    problem = given()
    rules = replace(rules, criterion="entropy")
    trees = grow_forest(**problem, rules=rules)
    assert bool((trees.gain >= 0).all())
    for number in range(len(trees.nodes)):
        place = int(problem["sample"][number])
        times = problem["weight"][place] * problem["class_weight"][place][problem["labels"]]
        root = bits(torch.bincount(problem["labels"], weights=times.double()))
        left = sum(bits(torch.tensor(counts, dtype=torch.float64)) for counts in leaf_counts(trees, number))
        assert float(trees.gain[number].sum()) == pytest.approx(root - left, abs=1e-6)


def test_composed_draws_have_the_stated_probabilities() -> None:
    """Input i with f_i / f, and then every subset of C of its values alike: 4000 roots of one candidate each."""
    codes = torch.cartesian_prod(torch.arange(2), torch.arange(6), torch.arange(4)).to(torch.int32)
    labels = torch.arange(48) % 3
    table = Table(codes, (2, 6, 4), (False, False, False))
    rules = GrowthRules(candidates=1, max_depth=1, subset=2)
    weight, sample, class_weight, keys = one_sample(48, 3, 4000)
    trees = grow_forest(table, labels, weight, sample, class_weight, keys, rules)
    offered = torch.tensor([2 // 1, 6 // 2, 4 // 2], dtype=torch.float64)  # C is 1 of 2 values, else 2
    offered[0] = 2
    drawn = torch.bincount(trees.input[:, 0].long(), minlength=3)
    assert chi_squared_fits(drawn, offered / offered.sum())
    for i, subsets in ((1, 15), (2, 6)):
        chosen = trees.values[trees.input[:, 0] == i, :2]
        _, counts = torch.unique(chosen, dim=0, return_counts=True)
        assert len(counts) == subsets
        assert chi_squared_fits(counts, torch.full((subsets,), 1 / subsets, dtype=torch.float64))


@pytest.mark.parametrize("docs", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_chain_as_deep_as_the_data_is_long_needs_no_recursion(docs: int) -> None:
    """Classes that alternate along one number: each split peels a row off."""
    table = Table(torch.arange(docs, dtype=torch.int32)[:, None], (docs,), (True,))
    labels = torch.arange(docs) % 2
    trees = grow_forest(table, labels, *one_sample(docs, 2, 1), GrowthRules(splits="sorted"))
    assert int(trees.depth) == docs - 1
    assert torch.equal(votes(trees, table, 2).argmax(1), labels)


@pytest.mark.parametrize("values", [257, 7_518, 540_732])
def test_inputs_of_any_cardinality(values: int) -> None:
    draw = torch.Generator().manual_seed(2)
    order = torch.randperm(300, generator=draw)
    codes = torch.stack([order * (values // 257) % values, order // 257], 1).to(torch.int32)  # no row twice
    labels = torch.randint(0, 200, (300,), generator=draw)
    table = Table(codes, (values, 5), (False, False))
    for rules in (GrowthRules(), GrowthRules(splits="sorted", max_features=1)):
        trees = grow_forest(table, labels, *one_sample(300, 200, 2), rules)
        assert int(trees.nodes.min()) > 100
        assert float((votes(trees, table, 200).argmax(1) == labels).double().mean()) == 1.0


def one_sample(docs: int, classes: int, trees: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """weight, sample, class_weight and keys of so many trees over all rows."""
    weight = torch.ones(1, docs, dtype=torch.int32)
    zeros = torch.zeros(trees, dtype=torch.int64)
    return weight, zeros, torch.ones(1, classes, dtype=torch.int64), tree_keys(torch.tensor(3), torch.arange(trees))


def votes(trees: Trees, table: Table, classes: int) -> Tensor:
    """(docs, K): soft votes of all trees for the rows of the table."""
    base = torch.tensor([0, *table.num_values]).cumsum(0)
    forests = Forests(
        *(getattr(trees, name)[None] for name in ("input", "left", "first", "size", "rows", "values")), base
    )
    return forest_votes(forests, table.codes, torch.arange(len(table.codes)), classes, True, "rest", None)[0]


def bits(counts: Tensor) -> float:
    """n · H of class counts, log2."""
    counts = counts[counts > 0].double()
    return float((counts * (counts.sum() / counts).log2()).sum())


def leaf_counts(trees: Trees, number: int) -> list[list[int]]:
    """Weighted rows by class of every leaf with several classes (others have no entropy)."""
    found = []
    for node in range(int(trees.nodes[number])):
        if trees.input[number, node] == LEAF and trees.size[number, node] > 0:
            begin, pairs = int(trees.first[number, node]), int(trees.size[number, node])
            found.append(trees.values[number, begin + 1 : begin + 2 * pairs : 2].tolist())
    return found


def chi_squared_fits(counts: Tensor, shares: Tensor) -> bool:
    """Whether counts agree with shares at the 1 in 10,000 level."""
    return float(chisquare(counts.numpy(), (counts.sum() * shares).numpy()).pvalue) > 1e-4
