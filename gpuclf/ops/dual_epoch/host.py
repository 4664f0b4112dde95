"""Dual coordinate descent of a model on another device by the CPU's kernel: copied to the host and back each epoch."""

from __future__ import annotations

from torch import Tensor

from gpuclf.ops.dual_epoch import DualModel, DualRows, cpu


def dual_epoch(
    kind: str,
    rows: DualRows,
    order: Tensor,
    view: int,
    bounds: Tensor,
    cost: Tensor | None,
    offset: bool,
    model: DualModel,
) -> None:
    """See `gpuclf.ops.dual_epoch`. What is copied, weights and duals, is little beside what an epoch reads of them."""
    here = DualRows(
        crow=rows.crow.cpu(),
        col=rows.col.cpu(),
        val=rows.val.cpu(),
        labels=rows.labels.cpu(),
        col_scale=None if rows.col_scale is None else rows.col_scale.cpu(),
        row_scale=None if rows.row_scale is None else rows.row_scale.cpu(),
    )
    host = DualModel(model.weights.cpu().contiguous(), model.duals.cpu().contiguous())
    cpu.dual_epoch(kind, here, order.cpu(), view, bounds.cpu(), None if cost is None else cost.cpu(), offset, host)
    model.weights.copy_(host.weights)
    model.duals.copy_(host.duals)
