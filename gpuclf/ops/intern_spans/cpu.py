"""Numba kernel: open addressing with linear probing; the table grows with the number of distinct spans.

A slot holds (hash, (id + 1) · 16 + length class), 0 where empty, so most probes touch one place in memory. The hash of
up to eight bytes is one-to-one for each length (the mixing function is a bijection), so equal hashes and lengths mean
equal bytes there; longer spans are compared byte by byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.span_hash.cpu import mix, same_bytes

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LONG = 9  # stands for every length above 8


@kernel
def _eight(text: Any, at: Any) -> Any:
    """Eight bytes as one number; written out, so that it becomes one load."""
    low = np.uint64(text[at]) | np.uint64(text[at + 1]) << np.uint64(8)
    low |= np.uint64(text[at + 2]) << np.uint64(16) | np.uint64(text[at + 3]) << np.uint64(24)
    high = np.uint64(text[at + 4]) << np.uint64(32) | np.uint64(text[at + 5]) << np.uint64(40)
    return low | high | np.uint64(text[at + 6]) << np.uint64(48) | np.uint64(text[at + 7]) << np.uint64(56)


@kernel
def _up_to_eight(text: Any, at: Any, size: Any) -> Any:
    """The first `size` of eight bytes, the others 0: without a loop, which would cost a mispredicted branch a word."""
    if size == 0:
        return np.uint64(0)
    if at + 8 <= text.size:
        return _eight(text, at) & (_ALL >> np.uint64(64 - 8 * size))
    word = np.uint64(0)
    for i in range(size):
        word |= np.uint64(text[at + i]) << np.uint64(8 * i)
    return word


@kernel
def _key(text: Any, start: Any, end: Any) -> Any:
    """A hash that serves this table only; one-to-one for spans of one length up to 8."""
    size = end - start
    h = np.uint64(size) * _GOLDEN
    while size > 8:
        h = mix(h ^ _eight(text, start)) + _GOLDEN
        start += 8
        size -= 8
    return mix(h ^ _up_to_eight(text, start, size))


@kernel
def _grown(slots: Any, size: Any) -> Any:
    """The same entries in a table of `size` slots."""
    larger = np.zeros((size, 2), dtype=np.uint64)
    mask = np.uint64(size - 1)
    for i in range(slots.shape[0]):
        if slots[i, 1] != 0:
            slot = slots[i, 0] & mask
            while larger[slot, 1] != 0:
                slot = (slot + np.uint64(1)) & mask
            larger[slot, 0] = slots[i, 0]
            larger[slot, 1] = slots[i, 1]
    return larger


@kernel
def _intern(text: Any, starts: Any, ends: Any, ids: Any) -> Any:
    room = 4096
    slots = np.zeros((room, 2), dtype=np.uint64)
    mask = np.uint64(room - 1)
    first = np.empty(room // 2, dtype=np.int64)
    count = 0
    for i in range(starts.size):
        start, end = starts[i], ends[i]
        h = _key(text, start, end)
        size = np.uint64(min(end - start, _LONG))
        slot = h & mask
        found: Any = -1
        while slots[slot, 1] != 0:
            if slots[slot, 0] == h and slots[slot, 1] & np.uint64(15) == size:
                candidate = np.int64(slots[slot, 1] >> np.uint64(4)) - 1
                found = candidate
                if size == _LONG:
                    f = first[candidate]
                    if not same_bytes(text, start, end, text, starts[f], ends[f]):
                        found = -1
                if found >= 0:
                    break
            slot = (slot + np.uint64(1)) & mask
        if found < 0:
            found = count
            slots[slot, 0] = h
            slots[slot, 1] = np.uint64(count + 1) << np.uint64(4) | size
            first[count] = i
            count += 1
            if count == first.size:
                room *= 2
                mask = np.uint64(room - 1)
                slots = _grown(slots, room)
                first = np.append(first, np.empty(room // 2 - count, dtype=np.int64))
        ids[i] = found
    return first[:count].copy()


def intern_spans(text: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    ids = torch.empty_like(starts)
    first = _intern(text.numpy(), starts.numpy(), ends.numpy(), ids.numpy())
    return ids, torch.from_numpy(first)
