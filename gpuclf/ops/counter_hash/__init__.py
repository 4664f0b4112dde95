"""Counter-based randomness: every draw is a hash of what it is for, so it never depends on device, threads or order.

`hash64(seed, step, item)` mixes its integer keys one after the other with the splitmix64 finaliser (Steele, Lea &
Flood 2014, "Fast splittable pseudorandom number generators"). Integer arithmetic only: the same bits on every device.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15
_MIX1 = 0xBF58476D1CE4E5B9
_MIX2 = 0x94D049BB133111EB


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def hash64(*keys: Tensor | int) -> Tensor:
    """A 64-bit hash of integer keys, broadcast against each other; int64, uniform over all values."""
    tensors = [key if isinstance(key, Tensor) else torch.tensor(key, dtype=torch.int64) for key in keys]
    device = next((t.device for t in tensors if t.dim()), tensors[0].device)
    state = torch.zeros((), dtype=torch.int64, device=device)
    return reduce(lambda h, key: _mix(h + key.to(device=device, dtype=torch.int64)), tensors, state)


def _mix(z: Tensor) -> Tensor:
    z = z + _signed(_GOLDEN)
    z = (z ^ _shift(z, 30)) * _signed(_MIX1)
    z = (z ^ _shift(z, 27)) * _signed(_MIX2)
    return z ^ _shift(z, 31)


def _shift(z: Tensor, bits: int) -> Tensor:
    """Logical right shift of int64 (torch's >> keeps the sign)."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def hash64_numpy(*keys: ArrayLike) -> NDArray[np.int64]:
    """`hash64` for numpy arrays and numbers; the same bits."""
    state = np.zeros((), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            z = state + np.asarray(key, dtype=np.int64).view(np.uint64) + np.uint64(_GOLDEN)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX1)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX2)
            state = z ^ (z >> np.uint64(31))
    return state.view(np.int64)


def uniform(hashed: Tensor) -> Tensor:
    """Hashes as float64 in [0, 1), from their upper 53 bits."""
    return _shift(hashed, 11).to(torch.float64) * 2.0**-53


def visiting_order(seed: int, epoch: int, keys: Tensor) -> Tensor:
    """Positions into `keys` (docs,) int64 in the order of one epoch: by hash(seed, epoch, key), ties by position.

    A subset of the documents is visited in the same relative order as the whole.
    """
    return torch.argsort(hash64(seed, epoch, keys), stable=True)
