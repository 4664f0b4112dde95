"""Rows that differ: the kernel equals the sorting reference, and groups hold what they say."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from gpuclf.ops.distinct_rows import cpu, distinct_rows, reference


@pytest.mark.parametrize("docs", [0, 1, 255, 257, 3000])
@pytest.mark.parametrize("inputs", [0, 1, 3])
def test_the_kernel_equals_the_reference(docs: int, inputs: int) -> None:
    draw = torch.Generator().manual_seed(docs + inputs)
    codes = torch.randint(0, 9, (docs, inputs), generator=draw, dtype=torch.int32)
    rows = torch.randperm(docs, generator=draw)[: docs - docs // 3]
    found, expected = cpu.distinct_rows(codes, rows), reference.distinct_rows(codes, rows)
    for item in fields(found):
        one, other = getattr(found, item.name), getattr(expected, item.name)
        assert one.dtype == other.dtype, item.name
        assert torch.equal(one, other), item.name


def test_groups_are_numbered_as_they_are_met() -> None:
    codes = torch.tensor([[1, 2], [7, 7], [1, 3], [1, 2], [1, 3]], dtype=torch.int32)
    groups = distinct_rows(codes, torch.tensor([4, 3, 2, 0]))
    assert groups.codes.tolist() == [[1, 3], [1, 2]]
    assert groups.group.tolist() == [0, 1, 0, 1]
    assert groups.order.tolist() == [0, 2, 1, 3]
    assert groups.begin.tolist() == [0, 2, 4]


def test_many_values_that_differ_in_high_bits() -> None:
    codes = (torch.arange(5000) * 400_000).to(torch.int32).view(-1, 1)
    assert len(distinct_rows(codes, torch.arange(5000)).codes) == 5000
