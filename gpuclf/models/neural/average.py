"""The mean of a network's weights over an epoch (Polyak & Juditsky 1992; Izmailov et al. 2018).

Single updates toss the weights about where they would settle; their mean lies nearer to it. Of an epoch the mean is of
the latest weights only, without what they were before (a suffix of all updates: Rakhlin, Shamir & Sridharan 2012), and
nothing has to be carried from one epoch to the next. It is taken at POINTS places, evenly spread, of which the last is
the end of the epoch: weights some updates apart differ little, and a table brought up to date after every update costs
as much as its learning.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

POINTS = 16


@dataclass(frozen=True)
class Mean:
    """Of the weights of R replicas so far: table None where it never changes; see NeuralPredictor."""

    table: Tensor | None
    parameters: Tensor
    buffers: Tensor

    def take_in(self, point: int, table: Tensor, parameters: Tensor, buffers: Tensor) -> None:
        """The weights at a point (from 1) of the epoch, in place: m ← m + (w - m) / point, element by element."""
        for mean, value in ((self.table, table), (self.parameters, parameters), (self.buffers, buffers)):
            if mean is not None and point == 1:
                mean.copy_(value)
            elif mean is not None:
                mean.lerp_(value, 1 / point)


def point_after(step: int, steps: int) -> int:
    """The number of the point behind this step (from 0) of an epoch of `steps`; 0 where there is none."""
    points = min(POINTS, steps)
    point = (step + 1) * points // steps
    return point if point > step * points // steps else 0
