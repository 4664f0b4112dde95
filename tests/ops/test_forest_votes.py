"""Votes: the CPU walk equals the tensor program of the reference, for every way to treat unseen values."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
import torch

from gpuclf.ops.forest_votes import (
    MISSING_LEFT,
    MISSING_RIGHT,
    MISSING_UNSEEN,
    Forests,
    cpu,
    forest_votes,
    reference,
)
from gpuclf.ops.grow_forest import PADDING, GrowthRules, grow_forest
from tests.ops.test_grow_forest import given


def forests(rules: GrowthRules) -> Forests:
    """Two forests of four trees, the last tree of the second one only padding; thresholds of all three kinds."""
    problem = given()
    trees = grow_forest(**problem, rules=rules)
    base = torch.tensor([0, *problem["table"].num_values]).cumsum(0)
    parts = {f.name: getattr(trees, f.name).unflatten(0, (2, 4)) for f in fields(Forests) if f.name != "base"}
    made = Forests(**parts, base=base)
    made.input[1, 3] = PADDING
    threshold = (made.input >= 0) & (made.size < 0)
    kinds = torch.arange(int(threshold.sum()), dtype=torch.int32) % 3
    made.size[threshold] = -1 - kinds
    assert kinds.numel() >= 6
    return made


def test_a_threshold_says_where_missing_numbers_go() -> None:
    """A tree of one node, whose left child has 1 row of 4."""
    parts = {
        "input": [0, -1, -1], "left": [1, 0, 1], "first": [5, 0, 0], "rows": [4, 1, 3], "values": [0, 0, 0],
    }  # fmt: skip
    codes, docs, seen = torch.tensor([[0], [5], [6]], dtype=torch.int32), torch.arange(3), torch.ones(1, 9).bool()
    wanted = {
        (MISSING_LEFT, "rest"): 1.0,
        (MISSING_LEFT, "weighted"): 1.0,
        (MISSING_RIGHT, "majority"): 0.0,
        (MISSING_RIGHT, "weighted"): 0.0,
        (MISSING_UNSEEN, "rest"): 0.0,
        (MISSING_UNSEEN, "majority"): 0.0,
        (MISSING_UNSEEN, "weighted"): 0.25,
    }
    for (size, unseen), left in wanted.items():
        tensors = {name: torch.tensor(part, dtype=torch.int32).view(1, 1, 3) for name, part in parts.items()}
        size_of = torch.tensor([[[size, 0, 0]]], dtype=torch.int32)
        made = Forests(**tensors, size=size_of, base=torch.tensor([0, 9]))
        for program in (cpu, reference):
            votes = program.forest_votes(made, codes, docs, 2, False, unseen, seen)[0]
            assert votes.tolist() == [[left, 1 - left], [1.0, 0.0], [0.0, 1.0]], (size, unseen)


@pytest.mark.parametrize("unseen", ["rest", "majority", "weighted"])
@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("splits", ["composed", "sorted", "binary"])
def test_the_walk_equals_the_tensor_program(splits: str, soft: bool, unseen: str, device: torch.device) -> None:
    made = forests(GrowthRules(splits=splits, max_depth=6))
    codes = given(seed=5, docs=257)["table"].codes
    seen = torch.rand(2, int(made.base[-1]), generator=torch.Generator().manual_seed(3)) < 0.8
    docs = torch.tensor([0, 3, 3, *range(7, 257)])
    expected = reference.forest_votes(made, codes, docs, 5, soft, unseen, seen)
    torch.testing.assert_close(cpu.forest_votes(made, codes, docs, 5, soft, unseen, seen), expected)
    there = replace(made, **{f.name: getattr(made, f.name).to(device) for f in fields(Forests)})
    found = forest_votes(there, codes.to(device), docs.to(device), 5, soft, unseen, seen.to(device))
    torch.testing.assert_close(found.cpu(), expected)
    weights = torch.tensor([4.0, 3.0], dtype=torch.float64)[:, None].expand(2, docs.numel())
    torch.testing.assert_close(expected.sum(-1), weights)


def test_no_rows_and_no_trees_give_no_votes() -> None:
    made = forests(GrowthRules())
    codes = given()["table"].codes
    for program in (cpu, reference):
        assert program.forest_votes(made, codes, torch.arange(0), 5, False, "rest", None).shape == (2, 0, 5)
        nothing = replace(made, input=torch.full_like(made.input, PADDING))
        assert float(program.forest_votes(nothing, codes, torch.arange(9), 5, False, "rest", None).sum()) == 0.0
