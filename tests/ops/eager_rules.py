"""The online rules with a covariance, and the online SVM, as a reader of the papers would first write them down.

Dense, in float64, one model, every formula as printed, every weight touched at every instance. No code of the package.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass
class Trace:
    """W (D, K) and σ (D, K) at the end, the mean of W after every instance, and what was seen on the way."""

    weights: Array
    sigma: Array
    mean: Array
    mistakes: list[int] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    predictions: list[int] = field(default_factory=list)


def highest(scores: Array, skip: int = -1) -> int:
    """The class of the highest score, the lowest one of several, `skip` left out."""
    best = -1
    for k, score in enumerate(scores):
        if k != skip and (best < 0 or score > scores[best]):
            best = k
    return best


def run(kind: str, x: Array, y: Array, order: list[list[int]], numbers: dict[str, float], diagonal: str = "") -> Trace:
    """Epochs over x (docs, D), y (docs,): one list of rows each. The labels have max(y) + 1 classes at least."""
    classes = int(numbers.get("classes", y.max() + 1))
    shape = (x.shape[1], classes)
    trace = Trace(np.zeros(shape), np.ones(shape), np.zeros(shape))
    t = 0
    for rows in order:
        mistakes, updates, loss = 0, 0, 0.0
        for n in rows:
            t += 1
            scores = x[n] @ trace.weights
            trace.predictions.append(highest(scores))
            mistakes += trace.predictions[-1] != y[n]
            step = svm if kind == "svm" else confident
            updated, violation = step(kind, trace, x[n], int(y[n]), scores, numbers, diagonal, t)
            updates += updated
            loss += violation
            trace.mean += trace.weights
        trace.mistakes.append(mistakes)
        trace.updates.append(updates)
        trace.loss.append(loss)
    trace.mean /= max(t, 1)
    return trace


def svm(
    kind: str, trace: Trace, x: Array, y: int, scores: Array, numbers: dict[str, Any], diagonal: str, t: int
) -> tuple[bool, float]:
    """Eisenstein 2018, eq. 2.47 and 2.48; without eta Shalev-Shwartz et al. 2007, whose first decay is by 0."""
    cost = numbers.get("cost", 1.0 - np.eye(len(scores)))
    rival = highest(scores + cost[y])
    if "eta" in numbers:
        trace.weights *= 1.0 - numbers["decay"]
        rate = numbers["eta"]
    else:
        rate = 1.0 / (numbers["decay"] * t)
        trace.weights *= 1.0 - numbers["decay"] * rate
    trace.weights[:, y] += rate * x
    trace.weights[:, rival] -= rate * x
    return rival != y, scores[rival] + cost[y, rival] - scores[y]


def confident(
    kind: str, trace: Trace, x: Array, y: int, scores: Array, numbers: dict[str, Any], diagonal: str, t: int
) -> tuple[bool, float]:
    """One instance as a binary one: Δf has x in block y and -x in block rival, Σ is diagonal."""
    rival = highest(scores, skip=y)
    delta = np.zeros_like(trace.weights)
    delta[:, y], delta[:, rival] = x, -x
    m = float((trace.weights * delta).sum())
    v = float((trace.sigma * delta**2).sum())
    alpha, rho, violation = RULES[kind](m, v, numbers)
    if violation <= 0:
        return False, 0.0
    trace.weights += alpha * trace.sigma * delta
    if diagonal == "precision":
        trace.sigma = 1.0 / (1.0 / trace.sigma + rho * delta**2)
    else:  # the diagonal of Σ - β ΣΔf ΔfᵀΣ
        trace.sigma = trace.sigma - rho / (1.0 + rho * v) * (trace.sigma * delta) ** 2
    return True, violation


def variance(m: float, v: float, numbers: dict[str, Any]) -> tuple[float, float, float]:
    """Dredze, Crammer & Pereira 2008: Σ⁻¹ += 2αφ diag(x²)."""
    phi = numbers["phi"]
    b = 1 + 2 * phi * m
    gamma = (-b + np.sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
    alpha = max(0.0, gamma)
    return alpha, 2 * alpha * phi, phi * v - m


def _second_moment(alpha: float, v: float, phi: float) -> float:
    """ρ = αφ/√u of the rules in standard deviations, so that β = ρ/(1 + ρv) = αφ/(√u + vαφ)."""
    u = 0.25 * (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) ** 2
    return alpha * phi / np.sqrt(u)


def scw1(m: float, v: float, numbers: dict[str, Any]) -> tuple[float, float, float]:
    """Wang, Zhao & Hoi 2012, proposition 1; without C it is Crammer, Dredze & Pereira 2008."""
    phi = numbers["phi"]
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    alpha = max(0.0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))
    alpha = min(numbers.get("C", np.inf), alpha)
    return alpha, _second_moment(alpha, v, phi), phi * np.sqrt(v) - m


def scw2(m: float, v: float, numbers: dict[str, Any]) -> tuple[float, float, float]:
    """Wang, Zhao & Hoi 2012, proposition 2."""
    phi, n = numbers["phi"], v + 1 / (2 * numbers["C"])
    gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
    alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
    return alpha, _second_moment(alpha, v, phi), phi * np.sqrt(v) - m


def arow(m: float, v: float, numbers: dict[str, Any]) -> tuple[float, float, float]:
    """Crammer, Kulesza & Dredze 2009, figure 1: β = 1/(v + r), α = max(0, 1 - m) β."""
    beta = 1 / (v + numbers["r"])
    return max(0.0, 1 - m) * beta, 1 / numbers["r"], 1 - m


RULES = {"variance": variance, "scw1": scw1, "scw2": scw2, "arow": arow}
