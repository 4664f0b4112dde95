"""The online epoch on CUDA: blocks of rows by matrix products, walked by a Triton kernel where Triton is installed."""

from __future__ import annotations

from importlib.util import find_spec

from gpuclf.ops.online_epoch import torch_walk
from gpuclf.ops.online_epoch.blocks import Walk, online_epoch_blocks
from gpuclf.ops.online_epoch.records import Counts, Model, Rule, ScaledRows, Streams


def online_epoch(
    rows: ScaledRows, streams: Streams, rule: Rule, model: Model, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.online_epoch`."""
    return online_epoch_blocks(rows, streams, rule, model, batch, mean, _walk())


def _walk() -> Walk:
    if find_spec("triton") is None:  # torch for CUDA brings Triton on Linux, not everywhere
        return torch_walk.walk
    from gpuclf.ops.online_epoch import triton_walk

    return triton_walk.walk
