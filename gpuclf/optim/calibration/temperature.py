"""One temperature for all scores (Guo et al. 2017): softmax(scores / T) with the least negative log-likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpuclf.optim.calibration.one_vs_rest import Floats, floats, log_softmax

_MOST = 500  # steps to the root
_LEAST = 1e-3  # nats that the widest lead counts at the highest temperature


@dataclass(frozen=True)
class TemperatureCalibrator:
    """P = softmax(scores · inverse): inverse () float64 is 1/T > 0, so that the order of classes never changes."""

    inverse: Tensor

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """log P (docs, K) float64 of scores (docs, K)."""
        return torch.from_numpy(log_softmax(_scaled(floats(scores), float(self.inverse))))


def fit_temperature(scores: Tensor, gold: Tensor) -> TemperatureCalibrator:
    """The calibrator of held-out scores (docs, K) and gold (docs,).

    The negative log-likelihood is convex in 1/T; its minimum is where the mean expected score is the mean gold score.
    Where no other class of any document is above the gold one, likelihood grows without end as T falls: then each gold
    class counts 1 - 1/(n + 2), and the runner-up the rest (the rule of succession, as Platt's targets have it).
    Documents whose gold class is excluded (-inf), or whose others all are, have one likelihood at any T, and are left
    out. T is 1 where no score tells anything. Scores that mislead would have the highest T that there is; it ends where
    the widest lead counts a thousandth, so that the decisions stay what they are in float32 as well.
    """
    values, right_class = floats(scores), gold.cpu().numpy()[:, None]
    values = values - values.max(axis=1, keepdims=True)
    right = np.take_along_axis(values, right_class, axis=1)[:, 0]
    rest = values.copy()
    np.put_along_axis(rest, right_class, -np.inf, axis=1)
    rival = rest.max(axis=1)
    usable = np.isfinite(right) & np.isfinite(rival)
    values, right, rival = values[usable], right[usable], rival[usable]
    finite = np.where(np.isinf(values), 0.0, values)
    if not finite.any():
        return TemperatureCalibrator(torch.ones((), dtype=torch.float64))
    goal = right
    if (right >= rival).all():
        goal = right - (right - rival) / (len(right) + 2)

    def slope(inverse: float) -> float:
        """Of the negative log-likelihood."""
        chance = np.exp(log_softmax(_scaled(values, inverse)))
        return float(((chance * finite).sum(axis=1) - goal).mean())

    widest = float(np.abs(finite).max())
    inverse = max(_root(slope, 1 / widest), _LEAST / widest)
    return TemperatureCalibrator(torch.tensor(inverse, dtype=torch.float64))


def _scaled(scores: Floats, inverse: float) -> Floats:
    """scores · inverse, where an excluded class stays excluded at inverse 0 as well."""
    excluded = np.isneginf(scores)
    scaled: Floats = np.where(excluded, -np.inf, np.where(excluded, 0.0, scores) * inverse)
    return scaled


def _root(slope: Callable[[float], float], start: float) -> float:
    """Where a rising function of a number from 0 up crosses 0; 0 where it begins above."""
    from scipy.optimize import brentq

    low, high = 0.0, start
    if slope(low) >= 0:
        return low
    while slope(high) < 0:
        low, high = high, 2 * high
    return float(brentq(slope, low, high, xtol=1e-300, rtol=1e-14, maxiter=_MOST))
