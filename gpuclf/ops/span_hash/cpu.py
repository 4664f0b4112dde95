"""Numba kernel of span hashes; `hash_span` and `same_bytes` also serve the kernels that look spans up."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


@kernel
def mix(z: Any) -> Any:
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@kernel
def hash_span(text: Any, start: Any, end: Any) -> Any:
    h = _BASIS
    for i in range(start, end):
        h = (h ^ np.uint64(text[i])) * _PRIME
    return mix(h)


@kernel
def same_bytes(text: Any, start: Any, end: Any, other: Any, other_start: Any, other_end: Any) -> Any:
    if end - start != other_end - other_start:
        return False
    i = 0
    while i < end - start and text[start + i] == other[other_start + i]:
        i += 1
    return i == end - start


@kernel
def _hashes(text: Any, starts: Any, ends: Any, out: Any) -> Any:
    for i in range(starts.size):
        out[i] = hash_span(text, starts[i], ends[i])


def span_hashes(text: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    out = torch.empty_like(starts)
    _hashes(text.numpy(), starts.numpy(), ends.numpy(), out.numpy().view(np.uint64))
    return out
