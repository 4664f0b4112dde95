"""Uniform draws by key: one row a key, each draw a hash of its key and its place in the row."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def keyed_uniform(keys: Tensor, width: int) -> Tensor:
    """uniform(hash64(key, place)) for every place of a row (gpuclf.ops.counter_hash).

    keys (…) int64. Returns (…, width) float64 in [0, 1): the same bits on every device, whatever stands in other rows.
    """
    return _module(keys).keyed_uniform(keys, width)


def keyed_factors(keys: Tensor, width: int, drop: Tensor, dtype: torch.dtype) -> Tensor:
    """Factors of inverted dropout: 0 where `keyed_uniform` is below `drop`, else 1 / (1 - drop).

    keys (R, …) int64; drop (R,) float64 in [0, 1). Returns (R, …, width) of this type.
    """
    return _module(keys).keyed_factors(keys, width, drop, dtype)


def _module(keys: Tensor) -> Any:
    return import_module(f"{__name__}.{IMPLEMENTATIONS.get(keys.device.type, 'reference')}")
