"""Compact rows: the same documents with only the columns that they use; the CPU kernel equals the reference."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuclf.ops.compact_rows import compact_rows, cpu, reference


def drawn(seed: int, docs: int, features: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """crow, col, val and the same rows dense (docs, V+1), column 0 being 0; every seventh row is empty."""
    generator = torch.Generator().manual_seed(seed)
    dense = torch.rand((docs, features + 1), generator=generator)
    dense = torch.where(torch.rand(dense.shape, generator=generator) < 0.05, dense, 0.0)
    dense[:, 0] = 0
    dense[::7] = 0
    filled = torch.nonzero(dense)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(dim=1).cumsum(0)])
    return crow, filled[:, 1].to(dtype), dense[filled[:, 0], filled[:, 1]], dense


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("docs", "features"), [(0, 3), (1, 1), (255, 40), (257, 1000), (30, 0)])
def test_rows_are_the_same_documents(
    docs: int, features: int, scaled: bool, dtype: torch.dtype, device: torch.device
) -> None:
    crow, col, val, dense = drawn(docs, docs, features, dtype)
    chosen = torch.arange(docs - 1, -1, -2)
    scale = (torch.arange(features + 1) % 3).float() if scaled else None
    expected = reference.compact_rows(crow, col, val, chosen, scale, features)
    moved = [None if part is None else part.to(device) for part in (crow, col, val, chosen, scale)]
    for parts in (
        cpu.compact_rows(crow, col, val, chosen, scale, features),
        compact_rows(*moved, features),  # type: ignore[arg-type]
    ):
        for part, other in zip(parts, expected, strict=True):
            torch.testing.assert_close(part.cpu(), other, rtol=0, atol=0)
    rows, columns, values, used = expected
    assert used[0] == 0
    kept = dense[chosen] if scale is None else torch.where(scale != 0, dense[chosen], 0.0)
    assert used[1:].tolist() == torch.nonzero((kept != 0).any(dim=0)).flatten().tolist()
    again = torch.zeros_like(kept)
    doc = torch.repeat_interleave(torch.arange(chosen.numel()), rows.diff())
    again[doc, used[columns.long()]] = values
    assert torch.equal(again, kept)
