"""`keyed_uniform` for the CPU: the hash of the key once a row."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


def keyed_uniform(keys: Tensor, width: int) -> Tensor:
    """See gpuclf.ops.keyed_uniform."""
    out = torch.empty((*keys.shape, width), dtype=torch.float64)
    _fill(keys.contiguous().view(-1).numpy().view(np.uint64), out.view(-1, width).numpy())
    return out


def keyed_factors(keys: Tensor, width: int, drop: Tensor, dtype: torch.dtype) -> Tensor:
    """See gpuclf.ops.keyed_uniform."""
    out = torch.empty((*keys.shape, width), dtype=dtype)
    below = np.ceil(drop.numpy() * 2.0**53).astype(np.uint64)  # as the upper bits of a hash: the same comparison
    other = (1.0 / (1.0 - drop)).to(dtype).numpy()
    of_row = np.repeat(np.arange(drop.numel()), keys.numel() // max(1, drop.numel()))
    rows = keys.contiguous().view(-1).numpy().view(np.uint64)
    _fill_factors(rows, of_row, below, other, out.view(-1, width).numpy())
    return out


@kernel
def _fill_factors(keys, of_row, below, other, out):
    zero = other[:1] * 0
    for row in range(keys.size):
        z = keys[row] + _GOLDEN
        z = (z ^ (z >> _S30)) * _MIX1
        z = (z ^ (z >> _S27)) * _MIX2
        state = (z ^ (z >> _S31)) + _GOLDEN
        least, factor, none = below[of_row[row]], other[of_row[row]], zero[0]
        for place in range(out.shape[1]):
            z = state + np.uint64(place)
            z = (z ^ (z >> _S30)) * _MIX1
            z = (z ^ (z >> _S27)) * _MIX2
            out[row, place] = none if ((z ^ (z >> _S31)) >> _S11) < least else factor


@kernel
def _fill(keys, out):
    for row in range(keys.size):
        z = keys[row] + _GOLDEN
        z = (z ^ (z >> _S30)) * _MIX1
        z = (z ^ (z >> _S27)) * _MIX2
        state = (z ^ (z >> _S31)) + _GOLDEN
        for place in range(out.shape[1]):
            z = state + np.uint64(place)
            z = (z ^ (z >> _S30)) * _MIX1
            z = (z ^ (z >> _S27)) * _MIX2
            out[row, place] = float((z ^ (z >> _S31)) >> _S11) * 2.0**-53
