"""What the numba kernels over sparse rows share: a row's values under a view, its product with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.prefetch import prefetch

_AHEAD = 8  # features between the one that is fetched and the one that is used
_LINE = 16  # float32 numbers in a cache line; for float64 every other line is left to the processor


def flat_weights(weights: Tensor) -> tuple[NDArray[Any], int]:
    """The memory of weights (V+1, R, K), or of a slice [:, a:b] of more replicas, as one array without a copy.

    Returns the array, which begins at weights[0, 0, 0], and the distance of a feature's weights to the next one's.
    """
    columns, replicas, classes = weights.shape
    stride = weights.stride(0) if columns > 1 else replicas * classes
    assert weights[0].is_contiguous(), "a feature's weights are not contiguous"
    size = (columns - 1) * stride + replicas * classes
    return torch.as_strided(weights.detach(), (size,), (1,)).numpy(), stride


@kernel
def row_values(
    crow: Any, col: Any, val: Any, n: Any, col_scale: Any, row_scale: Any, columns: Any, x: Any
) -> tuple[Any, Any]:
    """Columns and scaled values of row n, the offset first, zeros left out; returns their count and sum of squares."""
    columns[0] = 0
    x[0] = 1
    count = 1
    square = 1.0
    dtype = x.dtype.type
    factor = dtype(row_scale[n])
    for j in range(crow[n], crow[n + 1]):
        v = np.int64(col[j])
        value = dtype(val[j]) * dtype(col_scale[v]) * factor
        if value != 0:
            columns[count] = v
            x[count] = value
            square += np.float64(value) * np.float64(value)
            count += 1
    return count, square


@kernel
def block_scores(flat: Any, stride: Any, start: Any, columns: Any, x: Any, count: Any, out: Any) -> None:
    """out[j] = sum over i of x[i] · flat[columns[i]·stride + start + j], summed in the order of i for every j.

    Four features go through the block together, to read and write `out` less often; no multiply-add is contracted and
    no sum is reordered, so a cell's bits do not depend on the width of the block.
    """
    width = out.size
    out[:] = 0
    i = 0
    while i + 4 <= count:
        for later in range(i + _AHEAD, min(i + _AHEAD + 4, count)):
            for j in range(0, width, _LINE):
                prefetch(flat, columns[later] * stride + start + j)
        a = columns[i] * stride + start
        b = columns[i + 1] * stride + start
        c = columns[i + 2] * stride + start
        d = columns[i + 3] * stride + start
        wa, wb, wc, wd = flat[a : a + width], flat[b : b + width], flat[c : c + width], flat[d : d + width]
        xa, xb, xc, xd = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(width):
            out[j] = (((out[j] + xa * wa[j]) + xb * wb[j]) + xc * wc[j]) + xd * wd[j]
        i += 4
    while i < count:
        a = columns[i] * stride + start
        wa = flat[a : a + width]
        for j in range(width):
            out[j] += x[i] * wa[j]
        i += 1
