"""Rows added to rows: the kernel equals the reference, and nothing else is touched."""

from __future__ import annotations

import pytest
import torch

from gpuclf.ops.add_rows import add_rows, cpu, reference


@pytest.mark.parametrize("docs", [0, 1, 257, 20_000])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_kernel_equals_the_reference(docs: int, kind: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(docs)
    table, parts = torch.randn(docs, 3, generator=draw, dtype=kind), torch.randn(50, 3, generator=draw, dtype=kind)
    rows = torch.randperm(docs, generator=draw)[: docs // 2]
    source = torch.randint(0, 50, (rows.numel(),), generator=draw)
    found, expected = table.clone(), table.clone()
    cpu.add_rows(found, rows, parts, source)
    reference.add_rows(expected, rows, parts, source)
    assert torch.equal(found, expected)


def test_other_rows_stay() -> None:
    table = torch.zeros(4, 2)
    add_rows(table, torch.tensor([3, 1]), torch.tensor([[1.0, 2.0], [5.0, 6.0]]), torch.tensor([1, 1]))
    assert table.tolist() == [[0.0, 0.0], [5.0, 6.0], [0.0, 0.0], [5.0, 6.0]]
