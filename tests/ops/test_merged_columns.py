"""Rows with merged columns: the kernel equals the reference bit by bit, and both keep products of rows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuclf.ops.merged_columns import MergedRows, cpu, merged_columns, reference
from gpuclf.ops.sparse_gradient import cpu as turning
from gpuclf.ops.sparse_gradient import reference as plainly_turning


def rows(docs: int, features: int, density: float) -> tuple[Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(docs + features)
    dense = torch.randn(docs, features, generator=draw) * (torch.rand(docs, features, generator=draw) < density)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)])
    return crow, (dense.nonzero()[:, 1] + 1).to(torch.int32), dense[dense != 0]


def scales(docs: int, features: int, used: bool) -> tuple[Tensor | None, Tensor | None]:
    if not used:
        return None, None
    draw = torch.Generator().manual_seed(9)
    col_scale, row_scale = torch.rand(features + 1, generator=draw) + 0.5, torch.rand(docs, generator=draw) + 0.5
    col_scale[2::5] = 0
    return col_scale, row_scale


def dense(made: MergedRows, docs: int) -> Tensor:
    doc = torch.repeat_interleave(torch.arange(docs), made.crow.diff())
    out = torch.zeros(docs, int(made.place.max()) + 1 if docs else 1, dtype=torch.float64)
    out[doc, made.col.long()] = made.val.double()
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(("docs", "features"), [(0, 3), (1, 1), (5, 255), (257, 40), (100, 1000)])
def test_the_kernel_is_the_reference(docs: int, features: int, scaled: bool, merge: bool, dtype: torch.dtype) -> None:
    given = rows(docs, features, 0.03)
    used = torch.rand(docs, generator=torch.Generator().manual_seed(3)) < 0.8
    more = (used, *scales(docs, features, scaled), features, dtype)
    ours, plain = (module.merged_columns(*given, *more, merge=merge) for module in (cpu, reference))
    for name in ("crow", "col", "val", "place", "share"):
        assert torch.equal(getattr(ours, name), getattr(plain, name)), name
        assert getattr(ours, name).dtype == getattr(plain, name).dtype
    width = int(ours.place.max())
    turned, turned_plainly = (
        module.columns_of(ours.crow, ours.col, ours.val, width) for module in (turning, plainly_turning)
    )
    for name in ("start", "doc", "val"):
        assert torch.equal(getattr(turned, name), getattr(turned_plainly, name)), name


def test_products_of_rows_stay_and_single_features_become_one() -> None:
    crow, col, val = rows(60, 400, 0.02)
    used = torch.ones(60, dtype=torch.bool)
    apart = dense(merged_columns(crow, col, val, used, None, None, 400, torch.float64, merge=False), 60)
    merged = dense(merged_columns(crow, col, val, used, None, None, 400, torch.float64, merge=True), 60)
    torch.testing.assert_close(merged @ merged.T, apart @ apart.T)
    alone = apart[:, (apart != 0).sum(0) == 1]
    assert int(((merged != 0).sum(0) == 1).sum()) == int((alone != 0).any(1).sum()) < alone.shape[1]
