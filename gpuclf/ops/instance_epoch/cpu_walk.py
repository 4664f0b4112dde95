"""The rules with a covariance on the CPU: one row after the other, for all replicas of a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.instance_epoch.records import SMALLEST_SIGMA
from gpuclf.ops.kernel import kernel
from gpuclf.ops.sparse_rows import block_scores, row_values


@kernel
def longest_row(crow: Any, order: Any) -> Any:
    """Entries of the longest of the rows in `order`."""
    longest = 0
    for n in order:
        longest = max(longest, crow[n + 1] - crow[n])
    return longest


@kernel
def add(flat: Any, cell: Any, change: Any) -> Any:
    """flat[cell] += change, summed in float64; whether the result is a finite number of its type."""
    flat[cell] = np.float64(flat[cell]) + change
    return np.isfinite(flat[cell])


@kernel
def walk_confident(
    crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any,
    flat: Any, stride: Any, sums: Any, sums_stride: Any, classes: Any,
    first: Any, second: Any, steps: Any, mistakes: Any, updates: Any, loss: Any,
    sigma: Any, sigma_stride: Any, kind: Any, precision: Any, batch: Any, mean: Any,
) -> None:  # fmt: skip
    """One epoch of a block of neighbouring replicas, whose weights of feature v begin at flat[v · stride]."""
    replicas = first.size
    columns = np.empty(longest_row(crow, order) + 1, np.int64)
    x = np.empty(columns.size)
    scores = np.empty(replicas * classes)
    rivals = np.empty((batch, replicas), np.int64)
    decided = np.empty((batch, replicas, 3))
    end = order.size if classes > 1 else 0
    for t in range(0, end, batch):
        size = min(batch, end - t)
        share = 1.0 / size if mean else 1.0
        count = 0
        for b in range(size):
            n = order[t + b]
            y = labels[n]
            count, _ = row_values(crow, col, val, n, col_scale, row_scale, columns, x)
            block_scores(flat, stride, 0, columns, x, count, scores)
            for r in range(replicas):
                s = scores[r * classes : (r + 1) * classes]
                best, rival = _two_best(s, y)
                mistakes[r] += best != y
                v = 0.0
                for i in range(count):
                    at = columns[i] * sigma_stride + r * classes
                    v += x[i] * x[i] * (np.float64(sigma[at + y]) + np.float64(sigma[at + rival]))
                alpha, rho, beta, violation = _step(kind, first[r], second[r], s[y] - s[rival], v)
                rivals[b, r] = rival
                decided[b, r, 0], decided[b, r, 1], decided[b, r, 2] = share * alpha, share * rho, share * beta
                updates[r] += alpha > 0.0
                loss[r] += violation
        for shrinking in range(2):  # all steps go by the variances that the batch met
            for b in range(size):
                n = order[t + b]
                y = labels[n]
                if size > 1:
                    count, _ = row_values(crow, col, val, n, col_scale, row_scale, columns, x)
                for r in range(replicas):
                    alpha, rho, beta = decided[b, r, 0], decided[b, r, 1], decided[b, r, 2]
                    if alpha > 0.0:
                        gold_cell, rival_cell = r * classes + y, r * classes + rivals[b, r]
                        if shrinking:
                            _shrink(columns, x, count, gold_cell, rho, beta, precision, sigma, sigma_stride)
                            _shrink(columns, x, count, rival_cell, rho, beta, precision, sigma, sigma_stride)
                        else:
                            where = (steps[r] + t, flat, stride, sums, sums_stride, sigma, sigma_stride)
                            finite = _move(columns, x, count, gold_cell, alpha, *where)
                            finite &= _move(columns, x, count, rival_cell, -alpha, *where)
                            if not finite:
                                loss[r] = np.nan


@kernel
def _two_best(s: Any, y: Any) -> tuple[Any, Any]:
    """The highest class, and the highest one other than y; ties to the lowest."""
    best = 0
    rival = 0 if y else 1
    for k in range(1, s.size):
        if s[k] > s[best]:
            best = k
        if k != y and s[k] > s[rival]:
            rival = k
    return best, rival


@kernel
def _step(kind: Any, first: Any, second: Any, m: Any, v: Any) -> tuple[Any, Any, Any, Any]:
    """α, ρ, β and the violation: see gpuclf.ops.instance_epoch.decision."""
    if kind == 3:
        violation = 1.0 - m
    elif kind == 0:
        violation = first * v - m
    else:
        violation = first * np.sqrt(v) - m
    if not (violation > 0.0 and v > 0.0):
        return 0.0, 0.0, 0.0, (0.0 if violation <= 0.0 else violation)
    if kind == 3:
        beta = 1.0 / (v + first)
        return violation * beta, 1.0 / first, beta, violation
    if kind == 0:
        b = 1.0 + 2.0 * first * m
        root = np.sqrt((1.0 - 2.0 * first * m) ** 2 + 8.0 * first * first * v)
        alpha = 2.0 * violation / (v * (root + b)) if b > 0.0 else (root - b) / (4.0 * first * v)
        rho = 2.0 * alpha * first
        return alpha, rho, rho / (1.0 + rho * v), violation
    squared = first * first
    excess = violation * (first * np.sqrt(v) + m)
    if kind == 1:
        psi, zeta = 1.0 + squared / 2.0, 1.0 + squared
        root = np.sqrt(m * m * squared * squared / 4.0 + v * squared * zeta)
        alpha = excess / (v * (root + m * psi)) if m > 0.0 else (root - m * psi) / (v * zeta)
        alpha = min(alpha, second)
    else:
        half = v + 0.5 / second
        b = m * (2.0 * half + squared * v)
        root = first * np.sqrt(squared * m * m * v * v + 4.0 * half * v * (half + v * squared))
        alpha = 2.0 * excess / (root + b) if m > 0.0 else (root - b) / (2.0 * half * (half + v * squared))
    whole = alpha * v * first
    sqrt_u = 2.0 * v / (whole + np.sqrt(whole * whole + 4.0 * v))
    return alpha, alpha * first / sqrt_u, alpha * first / (sqrt_u + whole), violation


@kernel
def _move(
    columns: Any, x: Any, count: Any, cell: Any, alpha: Any, before: Any,
    flat: Any, stride: Any, sums: Any, sums_stride: Any, sigma: Any, sigma_stride: Any,
) -> Any:  # fmt: skip
    """Adds α σ x to the weights of one class; whether all of them are finite."""
    finite = True
    for i in range(count):
        change = alpha * np.float64(sigma[columns[i] * sigma_stride + cell]) * x[i]
        finite &= add(flat, columns[i] * stride + cell, change)
        if sums.size:
            finite &= add(sums, columns[i] * sums_stride + cell, before * change)
    return finite


@kernel
def _shrink(
    columns: Any, x: Any, count: Any, cell: Any, rho: Any, beta: Any, precision: Any, sigma: Any, sigma_stride: Any
) -> None:
    """Shrinks σ of the weights of one class."""
    for i in range(count):
        at = columns[i] * sigma_stride + cell
        old = np.float64(sigma[at])
        square = x[i] * x[i]
        shrunk = old / (1.0 + rho * square * old) if precision else old * (1.0 - beta * square * old)
        sigma[at] = max(shrunk, SMALLEST_SIGMA)
