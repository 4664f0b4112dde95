"""map_columns, column_sums and row_norms: kernel = reference = dense float64 arithmetic."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuclf.ops import column_sums, map_columns, row_norms
from gpuclf.ops.column_sums import cpu as sums_cpu
from gpuclf.ops.column_sums import reference as sums_reference
from gpuclf.ops.map_columns import cpu as map_cpu
from gpuclf.ops.map_columns import reference as map_reference
from gpuclf.ops.row_norms import cpu as norms_cpu
from gpuclf.ops.row_norms import reference as norms_reference

SIZES = [0, 1, 255, 257, 1000]


def random_rows(docs: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of 0 to 6 entries, columns in any order and with repeats."""
    generator = torch.Generator().manual_seed(docs + width)
    crow = torch.cat([torch.zeros(1).long(), torch.randint(0, 7, (docs,), generator=generator).cumsum(0)])
    col = torch.randint(0, width, (int(crow[-1]),), generator=generator)
    return crow, col, torch.randn(col.numel(), generator=generator)


def dense(crow: Tensor, col: Tensor, val: Tensor, width: int) -> Tensor:
    matrix = torch.zeros(crow.numel() - 1, width, dtype=torch.float64)
    doc = torch.repeat_interleave(torch.arange(crow.numel() - 1), crow.diff())
    return matrix.index_put((doc, col.long()), val.double(), accumulate=True)


@pytest.mark.parametrize("docs", SIZES)
def test_map_columns(docs: int) -> None:
    crow, col, val = random_rows(docs, 6)
    mapping = torch.tensor([3, -1, 1, 3, 2, -1])
    kernel = map_cpu.map_columns(crow, col, val, mapping)
    for got in (kernel, map_columns.map_columns(crow, col, val, mapping)):
        for a, b in zip(got, map_reference.map_columns(crow, col, val, mapping), strict=True):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b, rtol=0, atol=0)
    old, new = dense(crow, col, val, 6), dense(*kernel[:3], 4)
    expected = torch.stack([old[:, 0] * 0, old[:, 2], old[:, 4], old[:, 0] + old[:, 3]], dim=1)
    torch.testing.assert_close(new, expected, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(kernel[3], old[:, 1] + old[:, 5])
    for start, stop in zip(kernel[0][:-1].tolist(), kernel[0][1:].tolist(), strict=True):
        assert (kernel[1][start:stop].diff() > 0).all()


@pytest.mark.parametrize("module", [map_cpu, map_reference])
def test_map_columns_sums_in_float64_and_leaves_no_zero(module: object) -> None:
    crow, col = torch.tensor([0, 3, 5]), torch.tensor([0, 1, 2, 0, 1])
    val = torch.tensor([1e8, 1.0, -1e8, 2.5, -2.5])
    crow, col, val, _ = module.map_columns(crow, col, val, torch.tensor([1, 1, 1]))  # type: ignore[attr-defined]
    assert (crow.tolist(), col.tolist(), val.tolist()) == ([0, 1, 1], [1], [1.0])


@pytest.mark.parametrize("docs", SIZES)
@pytest.mark.parametrize("given_values", [False, True])
def test_column_sums(docs: int, given_values: bool) -> None:
    crow, col, val = random_rows(docs, 9)
    col = col.to(torch.int32)
    group = torch.arange(docs) % 4 - 1
    values = val if given_values else None
    kernel = sums_cpu.column_sums(crow, col, values, group, 3, 9)
    torch.testing.assert_close(kernel, sums_reference.column_sums(crow, col, values, group, 3, 9))
    torch.testing.assert_close(kernel, column_sums.column_sums(crow, col, values, group, 3, 9))
    matrix = dense(crow, col, val if given_values else torch.ones_like(val), 9)
    expected = torch.stack([matrix[group == g].sum(0) for g in range(3)])
    torch.testing.assert_close(kernel, expected)


@pytest.mark.parametrize("docs", SIZES)
@pytest.mark.parametrize("order", [1, 2])
def test_row_norms(docs: int, order: int) -> None:
    crow, col, val = random_rows(docs, 9)
    crow, col, val, _ = map_cpu.map_columns(crow, col, val, torch.arange(9))
    scale = torch.linspace(-1, 1, 9)
    kernel = norms_cpu.row_norms(crow, col, val, scale, order)
    torch.testing.assert_close(kernel, norms_reference.row_norms(crow, col, val, scale, order))
    torch.testing.assert_close(kernel, row_norms.row_norms(crow, col, val, scale, order))
    torch.testing.assert_close(kernel, (dense(crow, col, val, 9) * scale.double()).norm(p=order, dim=1))
