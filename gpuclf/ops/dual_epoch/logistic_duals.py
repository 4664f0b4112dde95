"""The best duals of one document under the logistic loss, for the kernel of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.exponentials import exponentials, near_logarithms
from gpuclf.ops.kernel import kernel

_LEAST = 1e-30  # of a dual: its logarithm and its square are numbers in float32, too
_ROUNDS = 25
_ROWS = 6  # of scratch


@kernel
def logistic_scratch(classes: Any) -> Any:
    """What `logistic_duals` works in."""
    return np.empty((_ROWS, classes))


@kernel
def logistic_duals(linear: Any, square: Any, bound: Any, enough: Any, old: Any, p: Any, scratch: Any) -> None:
    """p with log p_k + square · p_k = linear_k - b and Σ p = bound; all arrays (K,) float64 but old, the duals so far.

    Newton's method on log p and b together from the old duals, all classes at once: of a step for log p the curvature
    of square · p is taken into account as well (Halley 1694), or it would shoot far up. It ends after a step whose
    square, which is about what the duals are off then, is less than the share `enough` of the bound and, as a part of
    the score, of 1; or goes over to `_slowly` should it not get there.
    """
    u, share, off, step, growth, spare = scratch
    for k in range(p.size):
        p[k] = old[k]
    near_logarithms(p, u, spare)
    exponentials(u, p, spare)
    for _ in range(_ROUNDS):
        for k in range(p.size):
            curved = square * p[k]
            share[k] = 1.0 / (1.0 + curved)
            off[k] = u[k] + curved - linear[k]
        total = 0.0
        fall = 0.0
        lacking = 0.0
        for k in range(p.size):
            total += p[k]
            fall += p[k] * share[k]
            lacking += p[k] * share[k] * off[k]
        b = (total - bound - lacking) / fall
        for k in range(p.size):
            plain = -(off[k] + b) * share[k]
            least = plain if plain > -0.5 else -0.5
            step[k] = plain / (1.0 + 0.5 * (1.0 - share[k]) * least)
            u[k] += step[k]
        exponentials(step, growth, spare)
        moved = 0.0
        for k in range(p.size):
            grown = p[k] * growth[k]
            moved += max(p[k], grown) * step[k] * step[k]
            p[k] = grown
        if moved * (1.0 + square * bound) <= enough * bound:
            total = 0.0
            for k in range(p.size):
                total += p[k]
            for k in range(p.size):
                p[k] = max(p[k] * (bound / total), _LEAST)
            return
        if not moved < np.inf:  # not a number
            break
    _slowly(linear, square, bound, old, p)


@kernel
def _slowly(linear: Any, square: Any, bound: Any, old: Any, p: Any) -> None:
    """The same, whatever the numbers. Newton's method on b from the left, where the sum is too great: the sum is convex
    and falling in b, so the steps never pass the root."""
    b = np.inf
    for k in range(linear.size):  # the old duals are a solution for this b, or less than one: the sum is too great
        p[k] = np.log(np.float64(old[k]))
        b = min(b, linear[k] - p[k] - square * np.float64(old[k]))
    total = bound
    for _ in range(50):
        total = 0.0
        fall = 0.0
        for k in range(linear.size):
            p[k] = _log_root(linear[k] - b, square, p[k])
            size = np.exp(p[k])
            total += size
            fall += size / (1.0 + square * size)
        if total - bound <= 1e-9 * bound:
            break
        b += (total - bound) / fall
    for k in range(linear.size):
        p[k] = max(np.exp(p[k]) * (bound / total), _LEAST)


@kernel
def _log_root(z: Any, square: Any, u: Any) -> Any:
    """u with u + square · exp u = z, by Newton's method from a guess."""
    most = min(z, max(0.0, np.log(z / square))) if z > 0 else z  # no root lies above; steps from the left may
    for _ in range(50):
        size = square * np.exp(min(u, most))
        off = min(u, most) + size - z
        u = min(u, most) - off / (1.0 + size)
        if abs(off) < 1e-9 * (1.0 + abs(z)):
            break
    return min(u, most)
