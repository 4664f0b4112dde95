"""A problem of K classes as binary ones: a signal for each class, targets for each, and the way back.

All of it is NumPy in float64: its sums and functions, unlike torch's, have the same bits on any number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float64]


def floats(values: Tensor) -> Floats:
    """The values in float64."""
    return values.detach().cpu().numpy().astype(np.float64)


def one_vs_rest(scores: Floats, log_odds: bool) -> Floats:
    """How much each class of scores (docs, K) is above the others, (docs, K); for two classes (docs, 1), of the second.

    The lead over the best other class; with log_odds that over all others together, log p/(1 - p). Neither changes when
    a constant is added to all scores of a document, as the decision does not. ±inf where a class is excluded or all
    others are.
    """
    if scores.shape[1] == 2:
        return scores[:, 1:] - scores[:, :1]
    shifted = scores - scores.max(axis=1, keepdims=True)
    best = scores.argmax(axis=1)[:, None]
    rest = shifted.copy()
    np.put_along_axis(rest, best, -np.inf, axis=1)
    if not log_odds:
        np.put_along_axis(shifted, best, -rest.max(axis=1, keepdims=True), axis=1)
        return shifted
    # 1 - p of the likeliest class would cancel: it is the sum over the others. Theirs does not, as p ≤ 1/2.
    second = rest.max(axis=1, keepdims=True)
    base = np.where(np.isneginf(second), 0.0, second)
    with np.errstate(divide="ignore"):
        log_others = base + np.log(np.exp(rest - base).sum(axis=1, keepdims=True))
    others, weight = np.exp(log_others), np.exp(rest)
    signal = rest - np.log1p(others - weight)
    np.put_along_axis(signal, best, -log_others, axis=1)
    return signal


def soft_targets(gold: NDArray[np.int64], num_classes: int) -> Floats:
    """Targets (docs, K) for each class, for two (docs, 1) of the second alone: Platt's, never 0 or 1.

    (N₊ + 1)/(N₊ + 2) for the N₊ documents of the class and 1/(N₋ + 2) for the N₋ others: the mean after a uniform prior
    (Platt 2000), so that a few held-out documents that happen to be right prove no certainty.
    """
    columns = np.arange(num_classes) if num_classes > 2 else np.array([1])
    positive = gold[:, None] == columns
    count = positive.sum(axis=0)
    return np.where(positive, (count + 1) / (count + 2), 1 / (len(gold) - count + 2))


def joint_log_probabilities(log_yes: Floats, log_no: Floats) -> Floats:
    """log P (docs, K) from log P(class) and log P(not class) of each class by itself, (docs, K), or (docs, 1) for two.

    More than two are divided by their sum, as scikit-learn's CalibratedClassifierCV does.
    """
    if log_yes.shape[1] == 1:
        return np.concatenate([log_no, log_yes], axis=1)
    return log_softmax(log_yes)


def log_softmax(scores: Floats) -> Floats:
    """Over the last axis; -inf stays."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def finite_ends(signal: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest finite value of each column (C,); 0 where there is none."""
    finite = np.isfinite(signal)
    some = finite.any(axis=0)
    low = np.where(finite, signal, np.inf).min(axis=0)
    high = np.where(finite, signal, -np.inf).max(axis=0)
    return np.where(some, low, 0.0), np.where(some, high, 0.0)
