"""A round of boosting: the kernel equals the slow reference, and trees fit what they are given."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.ops.boost_round import SCALE_BITS, BoostRules, boost_round, cpu, cuda, reference
from gpuclf.ops.class_slopes import ClassSlopes
from gpuclf.ops.distinct_rows import distinct_rows

UNIT = float(1 << SCALE_BITS)

RULES = {
    "default": BoostRules(min_curvature=0.0),
    "rare": BoostRules(min_category_rows=4, max_prefix=3, min_samples_leaf=3, l2=0.5),
    "shallow": BoostRules(max_depth=2, smoothing=10.0),
}
VALUES, ORDERED = (30, 4, 12), (False, False, True)


def given(docs: int = 257, classes: int = 3, sampled: float = 1.0) -> dict[str, Any]:
    """A problem whose groups are single rows, some of them out of each class's sample."""
    draw = torch.Generator().manual_seed(4)
    codes = torch.stack([torch.randint(0, v, (docs,), generator=draw) for v in VALUES], 1).to(torch.int32)
    label = (codes[:, 0] % 3 + (codes[:, 2] > 6)) % classes
    p = torch.rand(docs, classes, generator=draw, dtype=torch.float64)
    p = p / p.sum(1, keepdim=True)
    gradient = p - torch.nn.functional.one_hot(label.long(), classes)
    taken = torch.rand(docs, classes, generator=draw) < sampled
    whole = [(part * UNIT).round().long() for part in (gradient, p * (1 - p))]
    return {"codes": codes, "num_values": VALUES, "ordered": ORDERED, "slopes": slopes_of(taken.int(), *whole)}


def slopes_of(held: Tensor, gradient: Tensor, curvature: Tensor) -> ClassSlopes:
    """ClassSlopes from tables (G, K)."""
    kept = torch.nonzero(held.t())
    begin = torch.searchsorted(kept[:, 0].contiguous(), torch.arange(held.shape[1] + 1))
    parts = (part[kept[:, 1], kept[:, 0]] for part in (held, gradient, curvature))
    return ClassSlopes(begin, kept[:, 1].int(), *parts)


@pytest.mark.parametrize("kernel", [cpu, cuda], ids=["cpu", "tensors"])
@pytest.mark.parametrize(("docs", "sampled"), [(257, 1.0), (257, 0.5), (1, 1.0), (40, 0.05)])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_trees_equal_those_of_the_reference(
    rules: BoostRules, docs: int, sampled: float, kernel: Any, device: torch.device
) -> None:
    problem = given(docs, sampled=sampled)
    place = device if kernel is cuda else torch.device("cpu")
    slopes = ClassSlopes(*(getattr(problem["slopes"], item.name).to(place) for item in fields(ClassSlopes)))
    moved = problem | {"codes": problem["codes"].to(place), "slopes": slopes}
    found, expected = kernel.boost_round(**moved, rules=rules), reference.boost_round(**problem, rules=rules)
    for item in fields(found):
        one, other = getattr(found, item.name).cpu(), getattr(expected, item.name)
        if item.name in ("leaf", "change", "gain"):
            torch.testing.assert_close(one, other)
        else:
            assert torch.equal(one, other), item.name


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_groups_without_slopes_count_nowhere_and_get_their_leaf_s_value(rules: BoostRules) -> None:
    problem = given(sampled=0.6)
    slopes = problem["slopes"]
    found = cpu.boost_round(**problem, rules=rules)
    for k in range(3):  # grown on the groups of its sample alone, a class's tree is the same
        part = slice(int(slopes.begin[k]), int(slopes.begin[k + 1]))
        group = slopes.group[part].long()
        own = ClassSlopes(
            torch.tensor([0, len(group)]),
            torch.arange(len(group)).int(),
            *(getattr(slopes, name)[part] for name in ("held", "gradient", "curvature")),
        )
        tree = cpu.boost_round(**problem | {"codes": problem["codes"][group], "slopes": own}, rules=rules)
        nodes = int(found.nodes[k])
        assert nodes == int(tree.nodes[0])
        assert torch.equal(found.leaf[k, :nodes], tree.leaf[0, :nodes])
        assert torch.equal(found.change[group, k], tree.change[:, 0])


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_rows_with_the_same_codes_may_be_one_group(rules: BoostRules) -> None:
    problem = given(docs=600)
    groups = distinct_rows(problem["codes"], torch.arange(600))
    assert 1 < len(groups.codes) < 600
    single = problem["slopes"]
    sums = [
        torch.zeros(len(groups.codes), 3, dtype=torch.int64).index_add_(0, groups.group, part.view(3, 600).t().long())
        for part in (single.held, single.gradient, single.curvature)
    ]
    merged = slopes_of(sums[0].int(), sums[1], sums[2])
    found = cpu.boost_round(**problem | {"codes": groups.codes, "slopes": merged}, rules=rules)
    expected = cpu.boost_round(**problem, rules=rules)
    assert torch.equal(found.values, expected.values)
    assert torch.equal(found.leaf, expected.leaf)
    assert torch.equal(found.change[groups.group], expected.change)


@pytest.mark.parametrize("kernel", [cpu, cuda, reference])
def test_without_curvature_and_penalty_a_leaf_is_0(kernel: Any) -> None:
    slopes = slopes_of(torch.ones(6, 1).int(), torch.zeros(6, 1).long(), torch.zeros(6, 1).long())
    rules = BoostRules(l2=0.0, smoothing=0.0, min_curvature=0.0)
    trees = kernel.boost_round(torch.arange(6).view(6, 1).int() % 3, (3,), (False,), slopes, rules)
    assert trees.leaf.tolist() == [[0.0]]
    assert trees.change.eq(0).all()


def test_a_step_lowers_the_second_order_loss() -> None:
    """Σ g·f + ½ h·f² of the leaf values f is below 0, the value of no step (Chen & Guestrin 2016, eq. 3)."""
    problem = given()
    trees, slopes = boost_round(**problem, rules=BoostRules()), problem["slopes"]
    f = trees.change.t().flatten().double()  # every group has slopes of every class
    loss = (slopes.gradient / UNIT * f + slopes.curvature / UNIT * f**2 / 2).view(3, -1).sum(1)
    assert bool((loss < 0).all())
    assert bool((trees.gain >= 0).all())
