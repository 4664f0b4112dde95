"""Sorts by the first eight bytes as one number, then orders each group of equal beginnings by merging."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _beginnings(names: Any, name_ptr: Any, out: Any) -> Any:
    """The first eight bytes, big end first, padded with 0; `_order_ties` tells a short name from its padded twin."""
    for i in range(name_ptr.size - 1):
        key = np.uint64(0)
        start, size = name_ptr[i], name_ptr[i + 1] - name_ptr[i]
        for j in range(8):
            key <<= np.uint64(8)
            if j < size:
                key |= np.uint64(names[start + j])
        out[i] = key


@kernel
def _after(names: Any, name_ptr: Any, a: Any, b: Any) -> Any:
    """Whether name a sorts after name b."""
    size_a, size_b = name_ptr[a + 1] - name_ptr[a], name_ptr[b + 1] - name_ptr[b]
    for j in range(min(size_a, size_b)):
        byte_a, byte_b = names[name_ptr[a] + j], names[name_ptr[b] + j]
        if byte_a != byte_b:
            return byte_a > byte_b
    return size_a > size_b


@kernel
def _merge_sort(names: Any, name_ptr: Any, order: Any, spare: Any, lo: Any, hi: Any) -> Any:
    width = 1
    while width < hi - lo:
        for left in range(lo, hi, 2 * width):
            middle, right = min(left + width, hi), min(left + 2 * width, hi)
            i, j = left, middle
            for k in range(left, right):
                if j >= right or (i < middle and not _after(names, name_ptr, order[i], order[j])):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        order[lo:hi] = spare[lo:hi]
        width *= 2


@kernel
def _order_ties(names: Any, name_ptr: Any, keys: Any, order: Any) -> Any:
    spare = np.empty_like(order)
    lo = 0
    while lo < order.size:
        hi = lo + 1
        while hi < order.size and keys[order[hi]] == keys[order[lo]]:
            hi += 1
        if hi - lo > 1:
            _merge_sort(names, name_ptr, order, spare, lo, hi)
        lo = hi


def sort_spans(names: Tensor, name_ptr: Tensor) -> Tensor:
    bytes_, ptr = names.numpy(), name_ptr.numpy()
    keys = np.empty(ptr.size - 1, dtype=np.uint64)
    _beginnings(bytes_, ptr, keys)
    order = np.argsort(keys, kind="stable")
    _order_ties(bytes_, ptr, keys, order)
    return torch.from_numpy(order)
