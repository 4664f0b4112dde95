"""Numba kernel: open addressing with linear probing; the table grows with the number of distinct spans."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from gpuclf.ops.span_hash.cpu import hash_span, same_bytes


@njit(nogil=True, cache=True)
def _grown(hashes: Any, count: Any, size: Any) -> Any:
    """Slots (id + 1, 0 empty) of a table of `size` that holds the first `count` hashes."""
    slots = np.zeros(size, dtype=np.int64)
    mask = np.uint64(size - 1)
    for i in range(count):
        slot = hashes[i] & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i + 1
    return slots


@njit(nogil=True, cache=True)
def _intern(text: Any, starts: Any, ends: Any, ids: Any) -> Any:
    size = 4096
    slots = np.zeros(size, dtype=np.int64)
    hashes = np.empty(size // 2, dtype=np.uint64)
    first = np.empty(size // 2, dtype=np.int64)
    count = 0
    for i in range(starts.size):
        start, end = starts[i], ends[i]
        h = hash_span(text, start, end)
        mask = np.uint64(size - 1)
        slot = h & mask
        found = -1
        while slots[slot] != 0:
            candidate = slots[slot] - 1
            if hashes[candidate] == h:
                f = first[candidate]
                if same_bytes(text, start, end, text, starts[f], ends[f]):
                    found = candidate
                    break
            slot = (slot + np.uint64(1)) & mask
        if found < 0:
            found = count
            slots[slot] = found + 1
            hashes[found] = h
            first[found] = i
            count += 1
            if count == hashes.size:
                size *= 4
                slots = _grown(hashes, count, size)
                hashes = np.append(hashes, np.empty(size // 2 - hashes.size, dtype=np.uint64))
                first = np.append(first, np.empty(size // 2 - first.size, dtype=np.int64))
        ids[i] = found
    return first[:count].copy()


def intern_spans(text: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    ids = torch.empty_like(starts)
    first = _intern(text.numpy(), starts.numpy(), ends.numpy(), ids.numpy())
    return ids, torch.from_numpy(first)
