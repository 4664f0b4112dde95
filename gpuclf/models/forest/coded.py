"""Rows of any kind as codes, the form that forests are grown on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import CodeRows, Rows, SparseRows

_MOST_CELLS = 1 << 29  # of a bag laid out as a table: 2 GiB
_ABSENT, _PRESENT, _BINARY = 1, 2, 3  # codes of a binary feature, and how many there are


@dataclass(frozen=True)
class Layout:
    """The inputs of a forest: order (M,) int64: input m of the trees is column order[m] of the rows; num_values and
    ordered are in the trees' order. base (M + 1,) int64: where the values of each input begin among those of all."""

    order: Tensor
    num_values: tuple[int, ...]
    ordered: tuple[bool, ...]

    @property
    def base(self) -> Tensor:
        return torch.tensor([0, *self.num_values]).cumsum(0)

    def of_numbers(self, device: torch.device) -> Tensor:
        """(values of all inputs,) bool: codes of ordered inputs."""
        ordered = torch.tensor(self.ordered, dtype=torch.bool, device=device)
        return ordered.repeat_interleave(self.base.diff().to(device))


def layout(rows: Rows) -> Layout:
    """Inputs in the order of their keys, so that no draw depends on the order of columns."""
    if isinstance(rows, SparseRows):
        count = rows.num_features
        return Layout(torch.arange(count), (_BINARY,) * count, (False,) * count)
    assert isinstance(rows, CodeRows), "a forest is grown on codes or bags"
    inputs = rows.codes.shape[1]
    order = torch.arange(inputs)
    if rows.keys:
        order = torch.argsort(torch.tensor(rows.keys, dtype=torch.int64), stable=True)
    ordered = rows.ordered or (False,) * inputs
    places = order.tolist()
    return Layout(order, tuple(rows.num_values[p] for p in places), tuple(ordered[p] for p in places))


def coded(rows: Rows, inputs: Layout, docs: Tensor | None, col_scale: Tensor | None) -> Tensor:
    """(n, M) int32: codes of `docs` (all by default) in the order of `inputs`.

    A bag is a binary input a feature (1 absent, 2 present); features whose col_scale is 0 are absent everywhere.
    """
    if isinstance(rows, CodeRows):
        chosen = rows.codes if docs is None else rows.codes[docs]
        in_place = bool((inputs.order == torch.arange(inputs.order.numel())).all())
        return chosen if in_place else chosen[:, inputs.order.to(chosen.device)].contiguous()
    assert isinstance(rows, SparseRows)
    device = rows.crow.device
    docs = torch.arange(rows.num_docs, device=device) if docs is None else docs
    if docs.numel() * rows.num_features > _MOST_CELLS:
        raise UserFault(
            f"a forest lays bags out as a table, and {docs.numel():,} documents of {rows.num_features:,} features are"
            f" more than {_MOST_CELLS:,} cells",
            key="model.type",
            remedy="let words share inputs (features.hashing: {bits: 10}), give fewer columns, or take another learner",
        )
    table = torch.full((docs.numel(), rows.num_features), _ABSENT, dtype=torch.int32, device=device)
    lengths = rows.crow[docs + 1] - rows.crow[docs]
    doc = torch.arange(docs.numel(), device=device).repeat_interleave(lengths)
    entry = torch.arange(doc.numel(), device=device) + (rows.crow[docs] - lengths.cumsum(0) + lengths)[doc]
    col = rows.col[entry].long()
    kept = rows.val[entry] != 0
    if col_scale is not None:
        kept &= col_scale[col] != 0
    table[doc[kept], col[kept] - 1] = _PRESENT
    return table
