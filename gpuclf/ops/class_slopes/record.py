"""Slopes of the classes, of those that have some."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class ClassSlopes:
    """By class, groups in order: group (m,) int32; held (m,) int32 ≥ 1: its rows that have slopes of the class;
    gradient, curvature (m,) int64: sums over these. begin (K + 1,) int64: where each class's groups stand."""

    begin: Tensor
    group: Tensor
    held: Tensor
    gradient: Tensor
    curvature: Tensor
