"""Early stopping, one decision a replica: wait for an improvement, then give up and keep the best."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.models.train_options import EarlyStopping


@dataclass
class Patience:
    """What every replica of a batch has reached so far. All fields (R,).

    best float64 (−inf before the first evaluation), best_step and waited (evaluations since the best) int64.
    """

    best: Tensor
    best_step: Tensor
    waited: Tensor

    @classmethod
    def fresh(cls, replicas: int) -> Patience:
        zeros = torch.zeros(replicas, dtype=torch.int64)
        return cls(torch.full((replicas,), -torch.inf, dtype=torch.float64), zeros.clone(), zeros.clone())

    def observe(self, options: EarlyStopping, positions: Tensor, metric: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Takes in the metric (A,) of the replicas at `positions` (A,); gives (improved, exhausted), both (A,) bool.

        NaN never improves. An improvement is more than `min_delta` above the best.
        """
        metric = metric.cpu().to(torch.float64)
        improved = metric > self.best[positions] + options.min_delta
        better = positions[improved]
        self.best[better] = metric[improved]
        self.best_step[better] = step
        self.waited[positions] += 1
        self.waited[better] = 0
        return improved, self.waited[positions] >= options.patience
