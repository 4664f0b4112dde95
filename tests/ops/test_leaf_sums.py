"""Sums of leaf values: the CPU walk equals the tensor program of the reference."""

from __future__ import annotations

from dataclasses import fields, replace

import torch

from gpuclf.ops.forest_votes import Forests
from gpuclf.ops.grow_forest import PADDING, GrowthRules
from gpuclf.ops.leaf_sums import cpu, leaf_sums, reference
from tests.ops.test_forest_votes import forests
from tests.ops.test_grow_forest import given


def test_the_walk_equals_the_tensor_program(device: torch.device) -> None:
    made = forests(GrowthRules(splits="sorted"))
    codes = given(seed=6, docs=130)["table"].codes
    leaf = torch.randn(made.input.shape, generator=torch.Generator().manual_seed(0))
    docs = torch.tensor([1, 0, *range(5, 130)])
    expected = reference.leaf_sums(made, leaf, codes, docs, 3)
    torch.testing.assert_close(cpu.leaf_sums(made, leaf, codes, docs, 3), expected)
    there = replace(made, **{f.name: getattr(made, f.name).to(device) for f in fields(Forests)})
    torch.testing.assert_close(leaf_sums(there, leaf.to(device), codes.to(device), docs.to(device), 3).cpu(), expected)


def test_no_rows_and_no_trees_give_nothing() -> None:
    made = forests(GrowthRules())
    nothing = replace(made, input=torch.full_like(made.input, PADDING))
    codes, leaf = given()["table"].codes, torch.ones(made.input.shape)
    for program in (cpu, reference):
        assert program.leaf_sums(made, leaf, codes, torch.arange(0), 3).shape == (2, 0, 3)
        assert float(program.leaf_sums(nothing, leaf, codes, torch.arange(9), 3).abs().sum()) == 0.0
