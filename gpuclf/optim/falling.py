"""How far a falling sequence of values is above its limit: when an optimiser may stop."""

from __future__ import annotations

import torch
from torch import Tensor

_CAUTION = 1.5  # times the limit of the geometric series; seen: the distance is 0.5 to 1.3 times it


def still_to_fall(values: Tensor) -> Tensor:
    """How far a falling sequence is above its limit, (R,), from its last numbers (R, 2n+1), the latest one last.

    Of the falls over the last n steps and over the n before them, the further ones are taken as a geometric series
    (Aitken 1926). Infinite where the falls do not become smaller.
    """
    middle = values.shape[1] // 2
    before, lately = values[:, 0] - values[:, middle], values[:, middle] - values[:, -1]
    shrinks = (lately > 0) & (lately < before) & torch.isfinite(before)
    return torch.where(shrinks, _CAUTION * lately * lately / (before - lately), torch.inf)
