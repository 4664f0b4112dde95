"""max_features as a number of inputs."""

from __future__ import annotations

from math import isqrt

from gpuclf.ops.grow_forest import NO_LIMIT


def inputs_tried(max_features: int | float | str | None, inputs: int) -> int:
    """Of so many inputs a number, a share, their sqrt or log2; all for None. One at least."""
    if max_features is None:
        return NO_LIMIT
    if max_features == "sqrt":
        return max(1, isqrt(inputs))
    if max_features == "log2":
        return max(1, inputs.bit_length() - 1)
    assert not isinstance(max_features, str)
    return max(1, int(max_features * inputs)) if isinstance(max_features, float) else max_features
