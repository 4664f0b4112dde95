"""Uniform draws by key: one row a key, each draw a hash of its key and its place in the row."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def keyed_uniform(keys: Tensor, width: int) -> Tensor:
    """uniform(hash64(key, place)) for every place of a row (gpuclf.ops.counter_hash).

    keys (…) int64. Returns (…, width) float64 in [0, 1): the same bits on every device, whatever stands in other rows.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(keys.device.type, 'reference')}")
    return module.keyed_uniform(keys, width)
