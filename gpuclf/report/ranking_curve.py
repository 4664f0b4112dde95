"""Precision and recall of one class against all others over every threshold, as counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class PrCurve:
    """Points from the strictest threshold to the most lenient one: each distinct score once.

    true_positives, false_positives (points,) int64: documents of and not of the class with a score at or above it.
    """

    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]

    @property
    def precision(self) -> NDArray[np.float64]:
        return self.true_positives / (self.true_positives + self.false_positives)

    @property
    def recall(self) -> NDArray[np.float64]:
        return self.true_positives / max(int(self.true_positives[-1]), 1)


def pr_curve(positive: NDArray[np.bool_], scores: NDArray[np.floating]) -> PrCurve:
    """positive (n,) bool, scores (n,), n > 0, infinite ones allowed; equal scores are one point."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], positive[order]
    last_of_ties = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    true = np.cumsum(hits, dtype=np.int64)[last_of_ties]
    return PrCurve(true, last_of_ties + 1 - true)


def thin(curve: PrCurve, points: int) -> PrCurve:
    """Exactly `points` of the curve's points, evenly over recall, first and last among them (repeated if fewer).

    Of the points with one recall the strictest is the one worth keeping: its precision is the highest.
    """
    wanted = np.linspace(0.0, 1.0, points - 1) * curve.true_positives[-1]
    chosen = np.searchsorted(curve.true_positives, wanted, side="left")
    chosen = np.append(np.minimum(chosen, len(curve.true_positives) - 1), len(curve.true_positives) - 1)
    return PrCurve(curve.true_positives[chosen], curve.false_positives[chosen])
