"""Numba kernel: each level interns (id, token) pairs in an open-addressing table."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.span_hash.cpu import mix

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _pair_hash(left: Any, right: Any) -> Any:
    return mix(mix(np.uint64(left) + _GOLDEN) + np.uint64(right))


@kernel
def _intern_level(token_ptr: Any, tokens: Any, level: Any, n: Any, first_id: Any) -> Any:
    """Replaces level[p], the (n-1)-gram at p, by the id of the n-gram at p, where the document is long enough."""
    size = 4096
    slots = np.zeros(size, dtype=np.int64)
    lefts = np.empty(size // 2, dtype=np.int64)
    rights = np.empty(size // 2, dtype=np.int64)
    count = 0
    for d in range(token_ptr.size - 1):
        for p in range(token_ptr[d], token_ptr[d + 1] - n + 1):
            left, right = level[p], tokens[p + n - 1]
            mask = np.uint64(size - 1)
            slot = _pair_hash(left, right) & mask
            while slots[slot] != 0:
                c = slots[slot] - 1
                if lefts[c] == left and rights[c] == right:
                    break
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] == 0:
                lefts[count] = left
                rights[count] = right
                count += 1
                slots[slot] = count
                level[p] = first_id + count - 1
                if count == lefts.size:
                    size *= 4
                    lefts = np.append(lefts, np.empty(size // 2 - count, dtype=np.int64))
                    rights = np.append(rights, np.empty(size // 2 - count, dtype=np.int64))
                    slots = _grown(lefts, rights, count, size)
            else:
                level[p] = first_id + slots[slot] - 1
    return lefts[:count].copy(), rights[:count].copy()


@kernel
def _grown(lefts: Any, rights: Any, count: Any, size: Any) -> Any:
    slots = np.zeros(size, dtype=np.int64)
    mask = np.uint64(size - 1)
    for i in range(count):
        slot = _pair_hash(lefts[i], rights[i]) & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i + 1
    return slots


@kernel
def _place(token_ptr: Any, level: Any, n: Any, cursor: Any, ids: Any) -> Any:
    for d in range(token_ptr.size - 1):
        for p in range(token_ptr[d], token_ptr[d + 1] - n + 1):
            ids[cursor[d]] = level[p]
            cursor[d] += 1


def ngrams(
    token_ptr: Tensor, tokens: Tensor, num_ids: int, longest: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, list[int]]:
    in_ptr, in_ids = token_ptr.numpy(), tokens.numpy()
    lengths = np.diff(in_ptr)
    per_doc = sum(np.maximum(lengths - n + 1, 0) for n in range(1, longest + 1))
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(per_doc)])
    ids = np.empty(ptr[-1], dtype=np.int64)
    cursor = ptr[:-1].copy()
    level = in_ids.copy()
    _place(in_ptr, level, 1, cursor, ids)
    lefts, rights, level_start = [in_ids[:0]], [in_ids[:0]], [0, num_ids]
    for n in range(2, longest + 1):
        left, right = _intern_level(in_ptr, in_ids, level, n, level_start[-1])
        _place(in_ptr, level, n, cursor, ids)
        lefts.append(left)
        rights.append(right)
        level_start.append(level_start[-1] + left.size)
    tensors = (torch.from_numpy(a) for a in (ptr, ids, np.concatenate(lefts), np.concatenate(rights)))
    return (*tensors, level_start)  # type: ignore[return-value]
