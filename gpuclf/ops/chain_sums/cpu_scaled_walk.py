"""One sentence by probabilities that are scaled token by token, for numba kernels.

Rows of labels are padded with zeros to whole vectors of the processor (gpuclf.ops.chain_sums.cpu_products).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.chain_sums.cpu_products import LANES, add_outer, row_times_table
from gpuclf.ops.kernel import inner_kernel

_LITTLE = 1e-30  # what the sum of a token's row may fall to before it is scaled; the next is at least e^-500 times it


@inner_kernel
def padded(classes: Any) -> Any:
    """The cells of a row."""
    return -(-classes // LANES) * LANES


@inner_kernel
def scaled_walk(
    e: Any, rise: Any, fall: Any, classes: Any, width: Any, length: Any, weight: Any, alpha: Any, beta: Any, row: Any,
    together: Any,
) -> Any:  # fmt: skip
    """Returns the log of the sum; adds weight · P(before) P(after | …) to `together`, which lacks the factor `rise`.

    All are flat and contiguous; rows have W = `padded(K)` cells. e (tokens, W): the scores' exponentials, 0 in the
    padding, which are scaled; rise, fall, together (K, W): exponentials of the transitions, from the label before and
    transposed. alpha, beta (tokens, W) are filled, row (W,) is worked in: up to factors of the tokens, alpha[i] is
    P(label of token i | tokens to i), beta[i] the ratio by which the rest of the sentence changes it; their product is
    the probability times the weight.
    """
    log_sum = 0.0
    for j in range(width):
        alpha[j] = 1.0
    for i in range(length):
        at = i * width
        if i:
            row_times_table(alpha, at - width, rise, classes, width, alpha, at)
        total = _multiplied(alpha, e, at, width)
        if total < _LITTLE or i == length - 1:
            log_sum += np.log(total)
            scale = 1.0 / total
            for j in range(at, at + width):
                alpha[j] *= scale
                e[j] *= scale
    last = (length - 1) * width
    for j in range(last, last + width):
        beta[j] = weight
    for i in range(length - 1, 0, -1):
        at = i * width
        for j in range(width):
            row[j] = e[at + j] * beta[at + j]
        row_times_table(row, 0, fall, classes, width, beta, at - width)
        add_outer(alpha, at - width, row, classes, width, together)
    return log_sum


@inner_kernel
def _multiplied(alpha: Any, e: Any, at: Any, width: Any) -> Any:
    """Multiplies a row of alpha with that of e; returns its sum, of four sums side by side, which wait less for each
    other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(at, at + width, LANES):
        alpha[j] *= e[j]
        alpha[j + 1] *= e[j + 1]
        alpha[j + 2] *= e[j + 2]
        alpha[j + 3] *= e[j + 3]
        a += alpha[j]
        b += alpha[j + 1]
        c += alpha[j + 2]
        d += alpha[j + 3]
    return (a + b) + (c + d)
