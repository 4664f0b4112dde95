"""FNV-1a (Fowler, Noll, Vo; RFC 9923) over all spans at once, one byte position after the other."""

from __future__ import annotations

import torch
from torch import Tensor

_MASK = (1 << 64) - 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def span_hashes(text: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    state = torch.full_like(starts, _signed(0xCBF29CE484222325))
    lengths = ends - starts
    for position in range(int(lengths.max()) if lengths.numel() else 0):
        inside = lengths > position
        byte = text[starts[inside] + position].to(torch.int64)
        state[inside] = (state[inside] ^ byte) * 0x100000001B3
    state = (state ^ _shift(state, 30)) * _signed(0xBF58476D1CE4E5B9)
    state = (state ^ _shift(state, 27)) * _signed(0x94D049BB133111EB)
    return state ^ _shift(state, 31)


def _shift(z: Tensor, bits: int) -> Tensor:
    return (z >> bits) & (_MASK >> bits)
