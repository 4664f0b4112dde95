"""Penalties paid late, in Triton: see gpuclf.ops.stochastic_epoch.cpu_penalty, whose formulas these are.

A tile holds the K weights of some features of one replica; `since` (ENTRIES,) int64 are the updates whose penalty each
feature has paid, `until` where it is outside the tile's features, which then stay as they are.
"""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language import tensor


@triton.jit
def paid_by_tables(
    w: tensor, since: tensor, until: tensor, lasso: tensor,
    product: tensor, owed: tensor, end: tensor, mass: tensor, moment: tensor,
    AVERAGE: tl.constexpr,
) -> tuple[tensor, tensor]:  # fmt: skip
    """The weights w (ENTRIES, CLASSES) float64 after their penalties, and what they add to the sums."""
    total = w * 0.0
    while tl.max(until - since, axis=0) > 0:
        waiting = since < until
        stop = tl.where(waiting, tl.minimum(tl.load(end + since), until), since)
        fresh = (since > 0) & (tl.load(end + tl.maximum(since - 1, 0)) == since)  # closes the segment before it
        p = tl.where(fresh, 1.0, tl.load(product + since))[:, None]
        q = tl.where(fresh, 0.0, tl.load(owed + since))[:, None]
        after = tl.load(product + stop)[:, None]
        size = tl.abs(w)
        sign = tl.where(w < 0.0, -1.0, 1.0)
        if AVERAGE:
            height = size / p + q
            last = tl.broadcast_to(stop[:, None], w.shape)
            if lasso > 0.0:
                last = last_above(height, since, stop, owed)
            m = tl.where(fresh, 0.0, tl.load(mass + since))[:, None]
            n = tl.where(fresh, 0.0, tl.load(moment + since))[:, None]
            more = height * (tl.load(mass + last) - m) - (tl.load(moment + last) - n)
            alive = (last > since[:, None]) & (size > 0.0) & waiting[:, None]
            total += tl.where(alive, sign * more, 0.0)
        left = tl.maximum(size * (after / p) - (tl.load(owed + stop)[:, None] - q) * after, 0.0)
        w = tl.where(waiting[:, None], sign * left, w)
        since = stop
    return w, total


@triton.jit
def last_above(height: tensor, since: tensor, stop: tensor, owed: tensor) -> tensor:
    """The last update up to `stop` with owed below height (ENTRIES, CLASSES), `since` for none: a search by halves."""
    low = tl.broadcast_to(since[:, None], height.shape)
    high = tl.broadcast_to(stop[:, None], height.shape)
    while tl.max(tl.max(high - low, axis=1), axis=0) > 0:
        middle = (low + high + 1) // 2
        below = tl.load(owed + middle) < height
        found = (low < high) & below
        high = tl.where((low < high) & (below == 0), middle - 1, high)
        low = tl.where(found, middle, low)
    return low


@triton.jit
def log1p(x: tensor) -> tensor:
    """log (1 + x) for x ≥ 0, right in the last digits also for small ones (Kahan)."""
    u = 1.0 + x
    gap = u - 1.0
    return tl.where(gap > 0.0, x * (tl.log(u) / tl.where(gap > 0.0, gap, 1.0)), x)


@triton.jit
def one_less_exp(x: tensor) -> tensor:
    """1 - exp -x for x ≥ 0, right in the last digits also for small ones (Kahan)."""
    u = tl.exp(-x)
    log = tl.log(tl.where(u > 0.0, u, 1.0))
    near = (1.0 - u) * (x / tl.where(log < 0.0, -log, 1.0))
    return tl.where(log < 0.0, near, tl.where(u > 0.0, x, 1.0))


@triton.jit
def paid_steadily(
    w: tensor, rate: tensor, since: tensor, until: tensor, ridge: tensor, lasso: tensor, batch: tensor, short: tensor,
    AVERAGE: tl.constexpr,
) -> tuple[tensor, tensor]:  # fmt: skip
    """As `paid_by_tables`, with one rate (ENTRIES, CLASSES) for all updates; the last has `short` documents less."""
    times = (until - since).to(tl.float64)[:, None]
    size = tl.abs(w)
    sign = tl.where(w < 0.0, -1.0, 1.0)
    r = rate * ridge
    c = rate * lasso
    decay = times * log1p(r)
    cut = times * c
    if ridge > 0.0:
        cut = one_less_exp(decay) / ridge * lasso
    after = tl.maximum(size * tl.exp(-decay) - cut, 0.0)
    moved = (w != 0.0) & (times > 0.0)
    total = w * 0.0
    if AVERAGE:
        last = tl.where(times > 0.0, short, 0.0)
        m = times - tl.where(last > 0.0, 1.0, 0.0)
        more = batch * _steady_sum(size, m, r, c, ridge, lasso)
        more += tl.where(last > 0.0, (batch - last) * after, 0.0)
        total = tl.where(moved, sign * more, 0.0)
    return tl.where(moved, sign * after, w), total


@triton.jit
def _steady_sum(u: tensor, m: tensor, r: tensor, c: tensor, ridge: tensor, lasso: tensor) -> tensor:
    """Σ max(0, u_j) over j = 1 … m."""
    m = m + u * 0.0
    if ridge > 0.0:
        if lasso > 0.0:
            m = tl.minimum(m, tl.floor(log1p(u * (ridge / lasso)) / log1p(r)))
        powers = one_less_exp(m * log1p(r)) / r
        straight = m * (m + 1.0) / 2.0 - r * m * (m + 1.0) * (m + 2.0) / 6.0
        missing = tl.where(r * m < 1e-4, c * straight, lasso / ridge * (m - powers))
        total = powers * u - missing
    else:
        if lasso > 0.0:
            m = tl.minimum(m, tl.floor(u / c))
        total = m * u - c * m * (m + 1.0) / 2.0
    return total
