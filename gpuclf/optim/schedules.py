"""Step lengths that are known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

ScheduleKind = Literal["constant", "inverse", "power"]


@dataclass(frozen=True)
class Schedule:
    """rate (constant), rate / t (inverse) or rate / t^power, for the t-th step, t = 1, 2, …"""

    kind: ScheduleKind
    power: float = 0.5

    def rates(self, rate: Tensor, t: Tensor) -> Tensor:
        """Step lengths in float64 of the steps t, broadcast against the replicas' rates."""
        exponent = {"constant": 0.0, "inverse": 1.0, "power": self.power}[self.kind]
        return rate * t.to(rate.dtype) ** -exponent
