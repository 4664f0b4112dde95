"""The epoch on CUDA: a Triton program per replica walks its rows; the reference where Triton is not installed."""

from __future__ import annotations

from importlib.util import find_spec

from gpuclf.ops.instance_epoch import reference
from gpuclf.ops.instance_epoch.records import InstanceModel, InstanceRule
from gpuclf.ops.online_epoch.records import Counts, ScaledRows, Streams


def instance_epoch(
    rows: ScaledRows, streams: Streams, rule: InstanceRule, model: InstanceModel, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.instance_epoch`. With a single class there is nothing to walk for."""
    if find_spec("triton") is None or model.weights.shape[2] == 1 or not model.steps.numel():
        return reference.instance_epoch(rows, streams, rule, model, batch, mean)
    from gpuclf.ops.instance_epoch import triton_walk

    return triton_walk.instance_epoch(rows, streams, rule, model, batch, mean)
