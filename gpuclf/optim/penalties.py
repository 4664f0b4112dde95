"""Penalties on the weights. One of the three parts of a batch linear learner.

What a learner minimises is C · Σ weighted losses + penalty, as scikit-learn has it; the offset is never penalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

PenaltyKind = Literal["l2", "l1", "elasticnet", "none"]


@dataclass(frozen=True)
class Penalty:
    """ridge/2 · ‖W‖² + lasso · ‖W‖₁: l2 (1, 0), l1 (0, 1), elasticnet (1 - l1_ratio, l1_ratio), none (0, 0)."""

    kind: PenaltyKind

    @property
    def smooth(self) -> bool:
        return self.kind in ("l2", "none")

    def factors(self, l1_ratio: Tensor) -> tuple[Tensor, Tensor]:
        """ridge and lasso, each (R,) float64, from the replicas' l1_ratio (read for elasticnet only)."""
        zero, one = torch.zeros_like(l1_ratio), torch.ones_like(l1_ratio)
        table = {"l2": (one, zero), "l1": (zero, one), "elasticnet": (1 - l1_ratio, l1_ratio), "none": (zero, zero)}
        return table[self.kind]
