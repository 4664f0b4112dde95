"""What an edge is worth: its distance from independence against its degrees of freedom, by every criterion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

CRITERIA = ("aic", "bic", "p_value", "g2", "ic", "heldout", "exact")  # a replica has the place in them
LEAST = 1e-9  # a gain that is more than rounding
_TERMS = 400


@dataclass(frozen=True)
class Rules:
    """criterion, dof, correction: as in DecomposableOptions; penalty: a degree of freedom's weight under ic."""

    criterion: str
    dof: str
    correction: str
    penalty: float
    budget_share: float


def log_chi2_tail(statistic: NDArray[np.float64], dof: NDArray[np.float64]) -> NDArray[np.float64]:
    """log P(X ≥ statistic), X chi-squared with `dof` degrees of freedom; 0 (p = 1) where dof ≤ 0.

    Q(a, x) = Γ(a, x) / Γ(a): by 1 − P where that is exact, far out by Legendre's continued fraction (Abramowitz &
    Stegun 6.5.31), whose logarithm does not underflow.
    """
    a, x = np.maximum(dof, 0) / 2, np.maximum(statistic, 0) / 2
    result = np.zeros(np.broadcast(a, x).shape)
    a, x = np.broadcast_to(a, result.shape), np.broadcast_to(x, result.shape)
    some = a > 0
    near = some & (x < a + 1)
    result[near] = np.log1p(-special.gammainc(a[near], x[near]))
    far = some & ~near
    if far.any():
        result[far] = _log_far_tail(a[far], x[far])
    return result


def _log_far_tail(a: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lentz's method for the continued fraction of Γ(a, x) e^x x^−a."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / np.where(b == 0, tiny, b)
    value = d.copy()
    settled = np.zeros(x.shape, dtype=np.bool_)
    for i in range(1, _TERMS):
        factor = -i * (i - a)
        b = b + 2
        d = factor * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = d * c
        settled |= np.abs(change - 1) < 1e-14
        value = np.where(settled, value, value * change)  # each to its own end, whatever else is asked for
        if settled.all():
            break
    log_tail: NDArray[np.float64] = a * np.log(x) - x - special.gammaln(a) + np.log(value)
    return log_tail


def worth(
    distance: NDArray[np.float64],
    dof: NDArray[np.float64],
    own: NDArray[np.float64],
    documents: int,
    rules: Rules,
    level: float,
) -> NDArray[np.float64]:
    """How much better the graph is with each of the edges (n,) than without; below 0 where it is worse.

    distance, dof, own (n,): the last is what the criterion itself measured: log p, or log likelihood gained on held-out
    rows. level: the log of the threshold of p-values.
    """
    if rules.criterion == "g2":
        return distance.copy()
    if rules.criterion in ("p_value", "exact"):
        return level - own
    if rules.criterion == "heldout":
        return own.copy()
    weight = {"aic": 2.0, "bic": math.log(max(documents, 1)), "ic": rules.penalty}[rules.criterion]
    return distance - weight * dof


def threshold(rules: Rules, alpha: float, candidates: int, spent: float) -> float:
    """log of the level that a p-value must be below, for one of `candidates` tests.

    bonferroni: α / candidates. sequential: of what earlier tests have left of α, a share for this step (Webb &
    Petitjean 2016, "A multiple test correction for streams and cascades of statistical hypothesis tests").
    """
    if rules.correction == "none":
        return math.log(alpha)
    if rules.correction == "bonferroni":
        return math.log(alpha) - math.log(max(candidates, 1))
    left = max(alpha - spent, 1e-300)
    return math.log(left) + math.log(rules.budget_share) - math.log(max(candidates, 1))
