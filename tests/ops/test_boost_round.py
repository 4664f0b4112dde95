"""A round of boosting: the kernel equals the slow reference, and trees fit what they are given."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from gpuclf.ops.boost_round import SCALE_BITS, BoostRules, boost_round, cpu, reference

RULES = {
    "default": BoostRules(min_curvature=0.0),
    "rare": BoostRules(min_category_rows=4, max_prefix=3, min_samples_leaf=3, l2=0.5),
    "shallow": BoostRules(max_depth=2, smoothing=10.0),
}
VALUES, ORDERED = (30, 4, 12), (False, False, True)


def given(docs: int = 257, classes: int = 3) -> dict[str, object]:
    draw = torch.Generator().manual_seed(4)
    codes = torch.stack([torch.randint(0, v, (docs,), generator=draw) for v in VALUES], 1).to(torch.int32)
    label = (codes[:, 0] % 3 + (codes[:, 2] > 6)) % classes
    p = torch.rand(classes, docs, generator=draw, dtype=torch.float64)
    p = p / p.sum(0)
    gradient = p - torch.nn.functional.one_hot(label.long(), classes).t()
    rows = torch.nonzero(torch.arange(docs) % 5 > 0).flatten()
    scale = float(1 << SCALE_BITS)
    return {
        "codes": codes,
        "num_values": VALUES,
        "ordered": ORDERED,
        "gradient": (gradient * scale).round().to(torch.int32),
        "curvature": (p * (1 - p) * scale).round().to(torch.int32),
        "rows": rows,
    }


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_trees_equal_those_of_the_reference(rules: BoostRules) -> None:
    problem = given()
    found = cpu.boost_round(**problem, rules=rules)  # type: ignore[arg-type]
    expected = reference.boost_round(**problem, rules=rules)  # type: ignore[arg-type]
    for item in fields(found):
        if item.name in ("leaf", "change", "gain"):
            torch.testing.assert_close(getattr(found, item.name), getattr(expected, item.name))
        else:
            assert torch.equal(getattr(found, item.name), getattr(expected, item.name)), item.name


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_rows_without_slopes_count_nowhere_and_get_their_leaf_s_value(rules: BoostRules) -> None:
    problem = given()
    outside = torch.rand(problem["gradient"].shape, generator=torch.Generator().manual_seed(1)) < 0.4  # type: ignore[attr-defined]
    for name in ("gradient", "curvature"):
        problem[name] = problem[name].masked_fill(outside, 0)  # type: ignore[attr-defined]
    found = cpu.boost_round(**problem, rules=rules)  # type: ignore[arg-type]
    expected = reference.boost_round(**problem, rules=rules)  # type: ignore[arg-type]
    torch.testing.assert_close(found.change, expected.change)
    assert torch.equal(found.values, expected.values)
    rows = problem["rows"]
    for k in range(len(outside)):  # grown on the others alone, a class's tree is the same
        alone = problem | {"rows": rows[~outside[k, rows]]}  # type: ignore[index]
        tree = cpu.boost_round(**alone, rules=rules)
        nodes = int(found.nodes[k])
        assert nodes == int(tree.nodes[k])
        assert torch.equal(found.leaf[k, :nodes], tree.leaf[k, :nodes])


def test_a_step_lowers_the_second_order_loss_and_leaves_other_rows_alone() -> None:
    """Σ g·f + ½ h·f² of the leaf values f is below 0, the value of no step (Chen & Guestrin 2016, eq. 3)."""
    problem = given()
    trees = boost_round(**problem, rules=BoostRules())  # type: ignore[arg-type]
    unit = float(1 << SCALE_BITS)
    f = trees.change.double()
    loss = (problem["gradient"].double() / unit * f + problem["curvature"].double() / unit * f**2 / 2).sum(1)  # type: ignore[attr-defined]
    assert bool((loss < 0).all())
    outside = torch.ones(f.shape[1], dtype=torch.bool)
    outside[problem["rows"]] = False  # type: ignore[index]
    assert bool((f[:, outside] == 0).all())
    assert bool((trees.gain >= 0).all())
