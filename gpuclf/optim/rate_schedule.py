"""How the learning rate of stochastic descent changes in the course of training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

RateScheduleName = Literal["constant", "step", "cosine", "one_cycle", "plateau"]

_RISE = 0.3  # one_cycle: the part of training in which the rate rises
_BEGIN, _END = 1 / 25, 1e-4 / 25  # one_cycle: the first and the last rate beside the highest


@dataclass(frozen=True)
class RateSchedule:
    """What the learning rate is multiplied by at each step.

    step: `factor` after every `every` epochs; cosine: down to 0 along half a cosine over `epochs` epochs (Loshchilov &
    Hutter 2017); one_cycle: up and down again over `epochs` epochs (Smith & Topin 2018); plateau: see `lowered`.
    warmup: in so many epochs the rate rises to its full height, along a line.
    """

    kind: RateScheduleName = "constant"
    epochs: int = 10
    warmup: float = 0.0
    every: int = 10
    factor: float = 0.1
    patience: int = 2

    def factors(self, epoch: int, steps: int) -> Tensor:
        """(steps,) float64: of the steps of an epoch (from 0). What comes after `epochs` epochs goes on as they end."""
        return torch.tensor([self._factor(epoch * steps + i, steps) for i in range(steps)], dtype=torch.float64)

    def _factor(self, step: int, each: int) -> float:
        warm, total = self.warmup * each, self.epochs * each
        rising = min(1.0, (step + 1) / warm) if warm else 1.0
        if self.kind == "step":
            return rising * self.factor ** (step // each // self.every)
        if self.kind == "cosine":
            return rising * _cosine(1.0, 0.0, (step - warm) / max(1.0, total - warm))
        if self.kind == "one_cycle":
            top = _RISE * total
            if step < top:
                return _cosine(_BEGIN, 1.0, step / top)
            return _cosine(1.0, _END, (step - top) / max(1.0, total - 1 - top))
        return rising

    def lowered(self, loss: Tensor, best: Tensor, waited: Tensor, scale: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """plateau, after an epoch: best, waited, scale (R,) anew. Where the training loss (R,) has not improved for
        `patience` epochs the rate goes on at `factor` of what it was. Other schedules change nothing."""
        if self.kind != "plateau":
            return best, waited, scale
        improved = loss < best
        waited = torch.where(improved, 0, waited + 1)
        low = waited > self.patience
        return torch.minimum(best, loss), waited.masked_fill(low, 0), torch.where(low, scale * self.factor, scale)


def _cosine(begin: float, end: float, share: float) -> float:
    """From begin to end along half a cosine; share of the way, beyond 0 and 1 as there."""
    share = min(1.0, max(0.0, share))
    return end + (begin - end) * 0.5 * (1 + math.cos(math.pi * share))
