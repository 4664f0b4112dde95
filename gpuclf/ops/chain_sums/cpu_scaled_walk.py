"""One sentence by probabilities that are scaled token by token, for numba kernels.

Rows of labels are padded with zeros to whole vectors of the processor, and products with the transitions spell the
vectors out (gpuclf.ops.gathered_sum): the compiler leaves rows of a few labels to scalar instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.gathered_sum import gathered_sum, scattered_add
from gpuclf.ops.kernel import kernel

LANES = 4  # a row of labels is padded to a multiple of so many
_LITTLE = 1e-30  # what the sum of a token's row may fall to before it is scaled; the next is at least e^-500 times it


@kernel
def padded(classes: Any) -> Any:
    """The cells of a row."""
    return -(-classes // LANES) * LANES


@kernel
def scaled_walk(
    e: Any, rise: Any, fall: Any, order: Any, length: Any, weight: Any, alpha: Any, beta: Any, row: Any,
    probability: Any, together: Any,
) -> Any:  # fmt: skip
    """Returns the log of the sum; adds weight · P(before) P(after | …) to `together`, which lacks the factor `rise`.

    All are flat and contiguous but probability (tokens, K); rows have W = `padded(K)` cells. e (tokens, W): the scores'
    exponentials, 0 in the padding; rise, fall, together (K, W): exponentials of the transitions, from the label before
    and transposed; order: 0 … K-1. alpha, beta (tokens, W), row (W,) are worked in: up to factors of the tokens,
    alpha[i] is P(label of token i | tokens to i), beta[i] the ratio by which the rest of the sentence changes it; their
    product is the probability times the weight.
    """
    classes, width = order.size, row.size
    log_sum = 0.0
    for i in range(length):
        at = i * width
        here = alpha[at : at + width]
        if i == 0:
            here[:] = e[:width]
        else:
            gathered_sum(rise, order, width, alpha[at - width : at], classes, 0, here)
            for j in range(width):
                here[j] *= e[at + j]
        total = _sum(here)
        if total < _LITTLE or i == length - 1:
            log_sum += np.log(total)
            scale = 1.0 / total
            for j in range(width):
                here[j] *= scale
                e[at + j] *= scale
    beta[(length - 1) * width : length * width] = weight
    for i in range(length - 1, 0, -1):
        at = i * width
        for j in range(width):
            row[j] = e[at + j] * beta[at + j]
        gathered_sum(fall, order, width, row, classes, 0, beta[at - width : at])
        scattered_add(together, order, width, alpha[at - width : at], classes, row)
    for i in range(length):
        for label in range(classes):
            probability[i, label] = alpha[i * width + label] * beta[i * width + label]
    return log_sum


@kernel
def _sum(row: Any) -> Any:
    """Four sums side by side, which wait less for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for j in range(0, row.size, LANES):
        a += row[j]
        b += row[j + 1]
        c += row[j + 2]
        d += row[j + 3]
    return (a + b) + (c + d)
