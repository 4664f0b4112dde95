"""A rising curve for each class (Zadrozny & Elkan 2002), by pool-adjacent-violators."""

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


@dataclass(frozen=True)
class IsotonicCalibrator:
    """P(class) by linear interpolation between knots, constant beyond them, then divided by the sum over classes.

    place (C, M) rising and value (C, M) in (0, 1), float64, C = K, or 1 for two classes; curves of fewer knots are
    filled up with their last one. log_odds: what the signals are (`one_vs_rest`).
    """

    place: Tensor
    value: Tensor
    log_odds: bool

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """log P (docs, K) float64 of scores (docs, K)."""
        signal = one_vs_rest(floats(scores), self.log_odds)
        curves = zip(signal.T, self.place.numpy(), self.value.numpy(), strict=True)
        p = np.stack([np.interp(x.clip(place[0], place[-1]), place, value) for x, place, value in curves], axis=1)
        return torch.from_numpy(joint_log_probabilities(np.log(p), np.log1p(-p)))


def fit_isotonic(scores: Tensor, gold: Tensor, log_odds: bool) -> IsotonicCalibrator:
    """The calibrator of held-out scores (docs, K) and gold (docs,).

    The targets are Platt's: the curve is that of 0/1 targets drawn in from 0 and 1, so that no held-out plateau is
    taken for certainty, and no later document has probability 0.
    """
    signal = one_vs_rest(floats(scores), log_odds)
    signal = signal.clip(*finite_ends(signal))
    target = soft_targets(gold.cpu().numpy(), scores.shape[1])
    curves = [fit_curve(x, y) for x, y in zip(signal.T, target.T, strict=True)]
    most = max(len(place) for place, _ in curves)
    place, value = (np.stack([np.pad(c[part], (0, most - len(c[0])), mode="edge") for c in curves]) for part in (0, 1))
    return IsotonicCalibrator(torch.from_numpy(place), torch.from_numpy(value), log_odds)


def fit_curve(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Knots (m,) of the non-decreasing curve of least squares through (x, y): both ends of every level piece.

    Equal x share one value, the mean, whose weight is their number.
    """
    from scipy.optimize import isotonic_regression

    places, member, count = np.unique(x, return_inverse=True, return_counts=True)
    means = np.bincount(member, weights=y) / count
    levels = np.asarray(isotonic_regression(means, weights=count.astype(np.float64)).x)
    change = levels[1:] != levels[:-1]
    ends = np.concatenate([[True], change]) | np.concatenate([change, [True]])
    return places[ends], levels[ends]
