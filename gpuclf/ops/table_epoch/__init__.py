"""One epoch of a table of weights whose rows are summed by sparse rows: the first layer of a network.

A step changes every row, for rules that remember: Adam goes on moving a weight after its last gradient. On the CPU a
row is only brought up to date when it is wanted, by a sum over the steps missed in place of the steps themselves: the
same weights, at the cost of the rows that are used (gpuclf.ops.table_epoch.cpu).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torch import Tensor

from gpuclf.ops.table_epoch.records import KINDS, MOMENTS, RuleKind, Steps, TableEpoch, UpdateRule, Weights

__all__ = [
    "KINDS",
    "MOMENTS",
    "RuleKind",
    "Steps",
    "TableEpoch",
    "UpdateRule",
    "Weights",
    "bag_sums",
    "table_epoch",
    "update_all",
]

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def table_epoch(table: Weights, rule: UpdateRule, steps: Steps) -> TableEpoch:
    """The table (R, V, H) at the beginning of an epoch of these steps; its tensors are changed in place."""
    return _module(table.value).TableEpoch(table, rule, steps)


def bag_sums(table: Tensor, crow: Tensor, col: Tensor, val: Tensor) -> Tensor:
    """(R·B, H): Σ val · table[r, col] of each row; table (R, V, H), rows as in TableEpoch."""
    return _module(table).bag_sums(table, crow, col, val)


def update_all(weights: Weights, gradient: Tensor, rule: UpdateRule, steps: Steps, step: int, decayed: Tensor) -> None:
    """Step `step` (from 0) of an epoch for weights (R, P) and their gradient, in place; decayed (P,) 1 or 0: whether
    the weight decays (offsets do not)."""
    _module(weights.value).update_all(weights, gradient, rule, steps, step, decayed)


def _module(tensor: Tensor) -> Any:
    return import_module(f"{__name__}.{IMPLEMENTATIONS.get(tensor.device.type, 'reference')}")
