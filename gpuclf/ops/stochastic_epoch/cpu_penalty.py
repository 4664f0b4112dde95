"""Penalties paid late, on the CPU: what the updates since a weight was last looked at have done to it, in one go.

Between two payments u = |w| goes by u_t = max(0, u_(t-1) - τ_t) d_t with τ = η·lasso, d = 1 / (1 + η·ridge), or, with
P_t = d_1 … d_t, u_t / P_t = u_s / P_s - (Q_t - Q_s), Q_t = Σ_j τ_j / P_(j-1); once it is 0 it stays 0. So for
averages Σ_j n_j u_j = (u_s / P_s + Q_s) Σ_j n_j P_j - Σ_j n_j P_j Q_j over the updates s < j ≤ t that leave it above 0,
where n_j documents have update j. Both are differences of running sums, which begin anew with every segment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.kernel import kernel

SMALLEST = 1e-100  # of P, before a new segment begins with P = 1
SMALLEST_OF_SUMS = 1e-3  # the same where sums of P are subtracted: so many digits are lost at most


@kernel
def penalty_tables(rates: Any, ridge: Any, lasso: Any, sizes: Any, smallest: Any) -> Any:
    """After t updates: P and Q since the beginning of t's segment, the last update of the segment that t is in, the
    sums of n P and n P Q since that beginning, and the documents so far (sizes: those of each update)."""
    product = np.ones(rates.size + 1)
    owed = np.zeros(rates.size + 1)
    end = np.full(rates.size + 1, rates.size)
    mass = np.zeros(rates.size + 1)
    moment = np.zeros(rates.size + 1)
    seen = np.zeros(rates.size + 1)
    first = 0
    p = 1.0
    q = 0.0
    for t in range(rates.size):
        before, beyond = mass[t], moment[t]
        if p < smallest:
            end[first:t] = t
            first = t
            p, q, before, beyond = 1.0, 0.0, 0.0, 0.0
        q += rates[t] * lasso / p
        p /= 1.0 + rates[t] * ridge
        product[t + 1], owed[t + 1] = p, q
        mass[t + 1], moment[t + 1] = before + sizes[t] * p, beyond + sizes[t] * p * q
        seen[t + 1] = seen[t] + sizes[t]
    return product, owed, end, mass, moment, seen


@kernel
def pay(
    weights: Any, at: Any, squares: Any, also: Any, sums: Any, into: Any, classes: Any, since: Any, until: Any,
    rates: Any, ridge: Any, lasso: Any, adaptive: Any, sizes: Any, tables: Any,
) -> None:  # fmt: skip
    """The penalty of the updates since + 1 … until on one feature's weights; n w of these updates goes to the sums."""
    if ridge == 0 and lasso == 0:
        if sums.size:
            seen = tables[5]
            for k in range(classes):
                sums[into + k] += (seen[until] - seen[since]) * np.float64(weights[at + k])
        return
    if adaptive:  # the rate of a weight stands still between its gradients
        for k in range(classes):
            rate = rates[0] / (np.sqrt(np.float64(squares[also + k])) + 1e-10)
            _pay_steady(weights, at + k, sums, into + k, since, until, rate * ridge, rate * lasso, sizes)
        return
    product, owed, end, mass, moment, _ = tables
    dtype = weights.dtype.type
    while since < until:
        stop = min(until, end[since])
        fresh = since > 0 and end[since - 1] == since  # `since` closes the segment before it
        p, q = (1.0, 0.0) if fresh else (product[since], owed[since])
        m, n = (0.0, 0.0) if fresh else (mass[since], moment[since])
        factor = product[stop] / p
        cut = (owed[stop] - q) * product[stop]
        for k in range(classes):
            w = np.float64(weights[at + k])
            if sums.size and w != 0:
                height = abs(w) / p + q
                last = stop if lasso == 0 else since + np.searchsorted(owed[since + 1 : stop + 1], height)
                if last > since:
                    sums[into + k] += np.sign(w) * (height * (mass[last] - m) - (moment[last] - n))
            weights[at + k] = dtype(np.sign(w) * max(0.0, abs(w) * factor - cut))
        since = stop


@kernel
def _pay_steady(
    weights: Any, at: Any, sums: Any, into: Any, since: Any, until: Any, ridge: Any, lasso: Any, sizes: Any
) -> None:
    """One weight under the same ridge and lasso at every update: u_j = (u + c) d^j - c with c = lasso / ridge."""
    w = np.float64(weights[at])
    if w == 0:
        return
    u = abs(w)
    times = until - since
    decay = times * np.log1p(ridge)
    cut = times * lasso if ridge == 0 else -np.expm1(-decay) / ridge * lasso
    after = max(0.0, u * np.exp(-decay) - cut)
    weights[at] = weights.dtype.type(np.sign(w) * after)
    if sums.size:
        short = 1 if sizes[until - 1] != sizes[0] else 0  # the last update of an epoch may have fewer documents
        total = sizes[0] * _steady_sum(u, times - short, ridge, lasso) + short * sizes[until - 1] * after
        sums[into] += np.sign(w) * total


@kernel
def _steady_sum(u: Any, times: Any, ridge: Any, lasso: Any) -> Any:
    """Σ max(0, u_j) over j = 1 … times."""
    m = np.float64(times)
    if ridge == 0:
        if lasso > 0:
            m = min(m, np.floor(u / lasso))
        return m * u - lasso * m * (m + 1) / 2
    if lasso > 0:
        m = min(m, np.floor(np.log1p(u / (lasso / ridge)) / np.log1p(ridge)))
    powers = -np.expm1(-m * np.log1p(ridge)) / ridge  # Σ d^j
    if ridge * m < 1e-4:  # Σ (1 - d^j) / ridge without the difference
        return powers * u - lasso * (m * (m + 1) / 2 - ridge * m * (m + 1) * (m + 2) / 6)
    return powers * u - lasso / ridge * (m - powers)
