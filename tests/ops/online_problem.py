"""Small random problems for the online epoch, on which no implementation meets a tie that rounding would decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpuclf.ops.online_epoch import Model, Rule, ScaledRows, Streams

# Powers of two, so that sums of clipped steps on the offset alone cancel exactly everywhere.
C = torch.tensor([1 / 128, 0.125, 1.0, torch.inf, 0.25, 0.5, 2.0], dtype=torch.float64)
GAMMA = torch.linspace(0.5, 2.0, 7, dtype=torch.float64)
START = torch.tensor([0, 3, 4, 7])


@dataclass
class Setting:
    """An epoch's arguments other than the implementation; R = 7 replicas in 3 streams of unequal length."""

    rows: ScaledRows
    streams: Streams
    classes: int
    features: int

    def rule(self, step: Any, update_on: Any = "margin", target: str = "fixed", augmented: bool = False) -> Rule:
        cost = None
        if target == "cost":
            cost = 2 * torch.rand((self.classes,) * 2, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
            cost.fill_diagonal_(0.0)
        return Rule(step, C, GAMMA, cost, update_on, target == "scaled", augmented and cost is not None)

    def model(self, dtype: torch.dtype = torch.float64, average: bool = True, replicas: int = 7) -> Model:
        shape = (self.features + 1, replicas, self.classes)
        sums = torch.zeros(shape, dtype=dtype) if average else None
        return Model(torch.zeros(shape, dtype=dtype), sums, torch.zeros(replicas, dtype=torch.int64))


def setting(docs: int = 70, features: int = 30, classes: int = 5, seed: int = 0, scaled: bool = True) -> Setting:
    """Row 3 is empty; view 0 drops feature 4; labels are random."""
    g = torch.Generator().manual_seed(seed)
    dense = torch.randn(docs, features, generator=g) * (torch.rand(docs, features, generator=g) < 0.2)
    if docs > 3:
        dense[3] = 0
    labels = torch.randint(classes, (docs,), generator=g)
    col_scale = torch.rand(2, features + 1, generator=g) + 0.5
    col_scale[:, 0] = 1
    col_scale[0, 4] = 0
    row_scale = torch.rand(2, docs, generator=g) + 0.5
    scales = (col_scale, row_scale) if scaled else (None, None)
    order = torch.full((3, docs), -1)
    for i, length in enumerate((docs, docs // 2 + 1, 2)):
        chosen = torch.randperm(docs, generator=g)[: min(length, docs)]
        order[i, : chosen.numel()] = chosen
    streams = Streams(order, torch.tensor([0, 1, 1]), START)
    return Setting(ScaledRows(*csr(dense), labels, *scales), streams, classes, features)


def csr(dense: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """crow, col (from 1) and val of a dense (docs, V) matrix."""
    row, col = torch.nonzero(dense, as_tuple=True)
    crow = torch.zeros(dense.shape[0] + 1, dtype=torch.int64)
    crow[1:] = torch.bincount(row, minlength=dense.shape[0]).cumsum(0)
    return crow, (col + 1).to(torch.int32), dense[row, col]


def values(rows: ScaledRows, view: int, features: int) -> Tensor:
    """The scaled rows under a view as a dense float64 (docs, V+1) matrix with the offset."""
    docs = rows.labels.numel()
    dense = torch.zeros(docs, features + 1, dtype=torch.float64)
    row = torch.repeat_interleave(torch.arange(docs), rows.crow.diff())
    x = rows.val.double()
    if rows.col_scale is not None and rows.row_scale is not None:
        x = x * rows.col_scale[view, rows.col.long()].double() * rows.row_scale[view, row].double()
    dense[row, rows.col.long()] = x
    dense[:, 0] = 1
    return dense
