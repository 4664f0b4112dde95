"""Losses: what a document costs, by its class scores. One of the three parts of a batch linear learner."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from gpuclf.ops.class_loss import CURVED, class_loss, loss_along, loss_curvature, loss_diagonal


@dataclass(frozen=True)
class Loss:
    """A loss by its kind (gpuclf.ops.class_loss says which there are), with costs of confusions for `margin`.

    cost[y][r] of predicting r for y, None for 1. All sums are weighted by (docs, R) float64, and are in float64.
    """

    kind: str
    cost: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False)

    @property
    def smooth(self) -> bool:
        """Has a gradient everywhere. The others have kinks, at which line searches and quasi-Newton steps get stuck."""
        return self.kind in CURVED

    def value_and_gradient(self, scores: Tensor, labels: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Value (R,) and score gradient (docs, R, K)."""
        return class_loss(self.kind, scores, labels, weights, self.costs(scores.device))

    def along(
        self, scores: Tensor, direction: Tensor, step: Tensor, labels: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Value and slope (R,) at scores + step · direction."""
        return loss_along(self.kind, scores, direction, step, labels, weights, self.costs(scores.device))

    def curvature(self, scores: Tensor, direction: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        """Second derivative times a direction, (docs, R, K)."""
        return loss_curvature(self.kind, scores, direction, labels, weights, self.costs(scores.device))

    def diagonal(self, scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        """The diagonal of the second derivative, (docs, R, K)."""
        return loss_diagonal(self.kind, scores, labels, weights, self.costs(scores.device))

    def costs(self, device: torch.device) -> Tensor | None:
        """The costs (K, K) float64, None for ones."""
        return None if self.cost is None else torch.tensor(self.cost, dtype=torch.float64, device=device)
