"""`pooled_windows` for the CPU: products by BLAS; backwards only the windows that were chosen, which are few."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.pooled_windows.reference import windows


def pooled_windows(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    dilation: int,
    start: Tensor,
    length: Tensor,
    longest: int,
    k: int,
    alone: bool = False,
) -> Tensor:
    """See gpuclf.ops.pooled_windows."""
    del longest
    return _PooledWindows.apply(x, weight, bias, dilation, start, length, k, alone)


class _PooledWindows(torch.autograd.Function):
    """Keeps which windows were chosen."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        dilation: int,
        start: Tensor,
        length: Tensor,
        k: int,
        alone: bool,
    ) -> Tensor:
        filters = weight.shape[2]
        values = windows(x, weight, bias, dilation, alone) if alone else _values(x, weight, bias, dilation)
        pooled = torch.zeros(start.numel(), k, filters, dtype=values.dtype)
        chosen = np.full(tuple(pooled.shape), -1, dtype=np.int64)
        choose = _largest if k == 1 else _k_largest
        choose(values.numpy(), start.numpy(), length.numpy(), pooled.numpy(), chosen)
        ctx.save_for_backward(x, weight)
        ctx.chosen, ctx.dilation = chosen, dilation
        return pooled

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        filters = weight.permute(2, 0, 1).contiguous()
        to_filters, to_x = torch.zeros_like(filters), torch.zeros_like(x)
        to_bias = torch.zeros(filters.shape[0], dtype=x.dtype)
        _spread(
            grads[0].contiguous().numpy(), ctx.chosen, x.detach().contiguous().numpy(), filters.detach().numpy(),
            ctx.dilation, to_x.numpy(), to_filters.numpy(), to_bias.numpy(),
        )  # fmt: skip
        return to_x, to_filters.permute(1, 2, 0), to_bias, None, None, None, None, None


def _values(x: Tensor, weight: Tensor, bias: Tensor, dilation: int) -> Tensor:
    """`windows` with products in the type that autocast asks for; sums stay in the type of x."""
    width = weight.shape[0]
    number = x.shape[0] - (width - 1) * dilation
    low = torch.is_autocast_enabled("cpu")
    rows, columns = (x.to(torch.bfloat16), weight.to(torch.bfloat16)) if low else (x, weight)
    with torch.autocast("cpu", enabled=False):
        values = torch.addmm(bias.to(rows.dtype), rows[:number], columns[0])
        for place in range(1, width):
            values.addmm_(rows[place * dilation : place * dilation + number], columns[place])
        return values.to(x.dtype)


@kernel
def _largest(values, start, length, pooled, chosen):
    for doc in range(start.size):
        if length[doc] == 0:
            continue
        best, where = pooled[doc, 0], chosen[doc, 0]
        for f in range(best.size):
            best[f] = values[start[doc], f]
            where[f] = start[doc]
        for t in range(start[doc] + 1, start[doc] + length[doc]):
            for f in range(best.size):
                better = values[t, f] > best[f]
                best[f] = values[t, f] if better else best[f]
                where[f] = t if better else where[f]


@kernel
def _k_largest(values, start, length, pooled, chosen):
    k = pooled.shape[1]
    for doc in range(start.size):
        for f in range(pooled.shape[2]):
            held = 0
            for t in range(start[doc], start[doc] + length[doc]):
                value = values[t, f]
                if held < k:
                    chosen[doc, held, f] = t
                    pooled[doc, held, f] = value
                    held += 1
                    continue
                least = 0
                for place in range(1, k):  # of equal ones the last goes first
                    if pooled[doc, place, f] <= pooled[doc, least, f]:
                        least = place
                if value > pooled[doc, least, f]:
                    for place in range(least, k - 1):
                        chosen[doc, place, f] = chosen[doc, place + 1, f]
                        pooled[doc, place, f] = pooled[doc, place + 1, f]
                    chosen[doc, k - 1, f] = t
                    pooled[doc, k - 1, f] = value


@kernel
def _spread(grad, chosen, x, filters, dilation, to_x, to_filters, to_bias):
    for doc in range(grad.shape[0]):
        for place in range(grad.shape[1]):
            for f in range(grad.shape[2]):
                g, t = grad[doc, place, f], chosen[doc, place, f]
                if t < 0 or g == 0:
                    continue
                to_bias[f] += g
                for k in range(filters.shape[1]):
                    row = t + k * dilation
                    for e in range(x.shape[1]):
                        to_filters[f, k, e] += g * x[row, e]
                        to_x[row, e] += g * filters[f, k, e]
