"""Costs of the splits of a level, by the program of its device: Triton's on CUDA, where torch is slow, else torch."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from torch import Tensor

from gpuclf.ops.grow_forest import level_costs
from gpuclf.ops.grow_forest.level import Law, Level, Runs


def subset_costs(law: Law, level: Level, runs: Runs, run: Tensor, owner: Tensor, node: Tensor) -> Tensor:
    """See level_costs."""
    costs: Tensor = _program(level).subset_costs(law, level, runs, run, owner, node)
    return costs


def prefix_costs(law: Law, level: Level, runs: Runs, run: Tensor, node: Tensor) -> Tensor:
    """See level_costs."""
    costs: Tensor = _program(level).prefix_costs(law, level, runs, run, node)
    return costs


def _program(level: Level) -> Any:
    """A running sum of class counts down a level is one thread a class in torch for CUDA, whatever the level's size."""
    if level.counts.device.type == "cuda" and find_spec("triton") is not None:
        from gpuclf.ops.grow_forest import triton_walk

        if level.counts.shape[1] <= triton_walk.MOST_CLASSES:
            return triton_walk
    return level_costs
