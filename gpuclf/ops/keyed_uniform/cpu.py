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
