"""The draws of a tree inside CPU kernels: the hash chain of gpuclf.ops.counter_hash, one key at a time."""

from __future__ import annotations

from typing import Any

from gpuclf.ops.kernel import kernel

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX2 = 0x94D049BB133111EB - (1 << 64)
_LOW34, _LOW37, _LOW33, _LOW32 = (1 << 34) - 1, (1 << 37) - 1, (1 << 33) - 1, (1 << 32) - 1


@kernel
def chained(state: Any, key: Any) -> Any:
    """hash64(…, key) where hash64(…) is `state`; int64."""
    z = state + key + _GOLDEN
    z = (z ^ ((z >> 30) & _LOW34)) * _MIX1
    z = (z ^ ((z >> 27) & _LOW37)) * _MIX2
    return z ^ ((z >> 31) & _LOW33)


@kernel
def below(hashed: Any, limit: Any) -> Any:
    """A whole number in [0, limit), limit < 2^31, from the upper half of a hash."""
    return (((hashed >> 32) & _LOW32) * limit) >> 32
