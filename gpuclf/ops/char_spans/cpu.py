"""Numba kernel: first counts, then writes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _count(text: Any, unit_ptr: Any, shortest: Any, longest: Any, keep_short: Any, span_ptr: Any) -> Any:
    span_ptr[0] = 0
    for u in range(unit_ptr.size - 1):
        chars = 0
        for i in range(unit_ptr[u], unit_ptr[u + 1]):
            chars += (text[i] & 0xC0) != 0x80
        count = 0
        for n in range(shortest, longest + 1):
            if keep_short and chars <= n:
                count += chars > 0
                break
            count += max(0, chars - n + 1)
        span_ptr[u + 1] = span_ptr[u] + count


@kernel
def _write(text: Any, unit_ptr: Any, shortest: Any, longest: Any, span_ptr: Any, starts: Any, ends: Any) -> Any:
    for u in range(unit_ptr.size - 1):
        lo, hi = unit_ptr[u], unit_ptr[u + 1]
        at, stop = span_ptr[u], span_ptr[u + 1]
        n = shortest
        while at < stop:
            end = lo
            for _ in range(n):
                if end < hi:
                    end = _next(text, end, hi)
            start = lo
            while at < stop:
                starts[at] = start
                ends[at] = end
                at += 1
                if end >= hi:
                    break
                start = _next(text, start, hi)
                end = _next(text, end, hi)
            n += 1


@kernel
def _next(text: Any, i: Any, stop: Any) -> Any:
    i += 1
    while i < stop and (text[i] & 0xC0) == 0x80:
        i += 1
    return i


def char_spans(
    text: Tensor, unit_ptr: Tensor, shortest: int, longest: int, keep_short: bool
) -> tuple[Tensor, Tensor, Tensor]:
    span_ptr = torch.empty_like(unit_ptr)
    bytes_, units, ptr = text.numpy(), unit_ptr.numpy(), span_ptr.numpy()
    _count(bytes_, units, shortest, longest, keep_short, ptr)
    starts = torch.empty(int(ptr[-1]), dtype=torch.int64)
    ends = torch.empty_like(starts)
    _write(bytes_, units, shortest, longest, ptr, starts.numpy(), ends.numpy())
    return starts, ends, span_ptr
