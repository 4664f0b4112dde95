"""Numba kernel: open addressing with linear probing at half load at most."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.span_hash.cpu import hash_span, same_bytes


@kernel
def _fill(names: Any, name_ptr: Any, slots: Any) -> Any:
    mask = np.uint64(slots.size - 1)
    for i in range(name_ptr.size - 1):
        slot = hash_span(names, name_ptr[i], name_ptr[i + 1]) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i + 1


@kernel
def _find(names: Any, name_ptr: Any, slots: Any, text: Any, starts: Any, ends: Any, out: Any) -> Any:
    mask = np.uint64(slots.size - 1)
    for i in range(starts.size):
        start, end = starts[i], ends[i]
        slot = hash_span(text, start, end) & mask
        out[i] = -1
        while slots[slot] != 0:
            name = slots[slot] - 1
            if same_bytes(text, start, end, names, name_ptr[name], name_ptr[name + 1]):
                out[i] = name
                break
            slot = (slot + np.uint64(1)) & mask


def name_slots(names: Tensor, name_ptr: Tensor) -> Tensor:
    size = 1 << (2 * name_ptr.numel()).bit_length()
    slots = torch.zeros(size, dtype=torch.int64)
    _fill(names.numpy(), name_ptr.numpy(), slots.numpy())
    return slots


def find_spans(names: Tensor, name_ptr: Tensor, slots: Tensor, text: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    out = torch.empty_like(starts)
    arrays = (names, name_ptr, slots, text, starts, ends, out)
    _find(*(array.numpy() for array in arrays))
    return out
