"""Platt's sigmoid for each class (Platt 2000), by the Newton method of Lin, Lin & Weng 2007, all classes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gpuclf.optim.calibration.one_vs_rest import (
    Floats,
    finite_ends,
    floats,
    joint_log_probabilities,
    one_vs_rest,
    soft_targets,
)

_AT_ONCE = 1 << 16  # signals whose classes are fitted together: what a core's cache holds
_MOST = 100  # Newton steps
_HALVINGS = 40
_TOLERANCE = 1e-9  # of the gradient, a document; the step is taken that begins there
_RIDGE = 1e-12  # keeps the Hessian regular where all signals are one (Lin et al., algorithm 1)


@dataclass(frozen=True)
class PlattCalibrator:
    """P(class) = 1 / (1 + exp(-(slope · signal + intercept))), then divided by the sum over classes.

    slope, intercept (C,) float64, C = K, or 1 for two classes. low, high (C,): the finite ends of the held-out signals,
    which stand for infinite ones. log_odds: what the signals are (`one_vs_rest`).
    """

    slope: Tensor
    intercept: Tensor
    low: Tensor
    high: Tensor
    log_odds: bool

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """log P (docs, K) float64 of scores (docs, K)."""
        signal = _finite(one_vs_rest(floats(scores), self.log_odds), self.low.numpy(), self.high.numpy())
        logit = self.slope.numpy() * signal + self.intercept.numpy()
        return torch.from_numpy(joint_log_probabilities(-np.logaddexp(0, -logit), -np.logaddexp(0, logit)))


def fit_platt(scores: Tensor, gold: Tensor, log_odds: bool) -> PlattCalibrator:
    """The calibrator of held-out scores (docs, K) and gold (docs,)."""
    signal = one_vs_rest(floats(scores), log_odds)
    low, high = finite_ends(signal)
    signal = _finite(signal, low, high)
    target = soft_targets(gold.cpu().numpy(), scores.shape[1])
    width = max(1, _AT_ONCE // max(1, len(signal)))
    spans = [slice(start, start + width) for start in range(0, signal.shape[1], width)]
    fitted = [fit_sigmoids(signal[:, span], target[:, span]) for span in spans]
    slope, intercept = (np.concatenate(parts) for parts in zip(*fitted, strict=True))
    tensors = {"slope": slope, "intercept": intercept, "low": low, "high": high}
    return PlattCalibrator(**{name: torch.from_numpy(part) for name, part in tensors.items()}, log_odds=log_odds)


def _finite(signal: Floats, low: Floats, high: Floats) -> Floats:
    return np.where(np.isposinf(signal), high, np.where(np.isneginf(signal), low, signal))


def fit_sigmoids(signal: Floats, target: Floats) -> tuple[Floats, Floats]:
    """slope and intercept (C,) that minimise the cross-entropy of targets (n, C) in (0, 1); signal (n, C) finite.

    Signals are centred and scaled meanwhile: the optimum is the same, and no Hessian is nearly singular.
    """
    x, goals = np.ascontiguousarray(signal.T), np.ascontiguousarray(target.T)
    mean, spread = x.mean(axis=1), x.std(axis=1)
    spread = np.where(spread > 0, spread, 1.0)
    x = (x - mean[:, None]) / spread[:, None]
    share = goals.mean(axis=1)
    a, b = np.zeros_like(share), np.log(share / (1 - share))  # the optimum without any signal
    left = np.arange(len(share))  # the classes still to improve
    for _ in range(_MOST):
        a_left, b_left, part, goal = a[left], b[left], x[left], goals[left]
        p = 0.5 * (1 + np.tanh(0.5 * _logit(a_left, b_left, part)))
        error, weight = p - goal, p * (1 - p)
        weighted = weight * part
        g_a, g_b = (error * part).sum(axis=1), error.sum(axis=1)
        h_aa, h_ab = (weighted * part).sum(axis=1) + _RIDGE, weighted.sum(axis=1)
        h_bb = weight.sum(axis=1) + _RIDGE
        det = h_aa * h_bb - h_ab * h_ab
        d_a, d_b = -(h_bb * g_a - h_ab * g_b) / det, -(h_aa * g_b - h_ab * g_a) / det
        step = _armijo((a_left, b_left), (d_a, d_b), g_a * d_a + g_b * d_b, part, goal)
        a[left], b[left] = a_left + step * d_a, b_left + step * d_b
        left = left[(np.abs(g_a) + np.abs(g_b) > _TOLERANCE * len(target)) & (step > 0)]
        if not len(left):
            break
    return a / spread, b - a * mean / spread


def _armijo(
    at: tuple[Floats, Floats], along: tuple[Floats, Floats], slope: Floats, x: Floats, target: Floats
) -> Floats:
    """The longest of 1, ½, ¼ … (C,) with enough decrease; 0 where there is none. Rounding is no increase."""
    value = _cross_entropy(*at, x, target)
    step = np.ones_like(value)
    for _ in range(_HALVINGS):
        moved = _cross_entropy(at[0] + step * along[0], at[1] + step * along[1], x, target)
        bad = ~(moved <= value + 1e-4 * step * slope + 1e-12 * value)
        if not bad.any():
            return step
        step = np.where(bad, step / 2, step)
    return np.where(bad, 0.0, step)


def _cross_entropy(a: Floats, b: Floats, x: Floats, target: Floats) -> Floats:
    """Σ -t log p - (1 - t) log (1 - p) of each class, in the form that does not overflow."""
    logit = _logit(a, b, x)
    softplus = np.maximum(logit, 0) + np.log1p(np.exp(-np.abs(logit)))
    total: Floats = (softplus - target * logit).sum(axis=1)
    return total


def _logit(a: Floats, b: Floats, x: Floats) -> Floats:
    return a[:, None] * x + b[:, None]
