"""Stochastic gradient descent as one Triton program per replica, which walks the documents as the CPU does.

A row's entries are taken in portions of ENTRIES, each with the K weights of its feature (K padded to a power of two).
Programs share no cell that they write. What a program wrote it reads again: a barrier lies between.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import tensor

from gpuclf.ops.class_loss import KINDS
from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule
from gpuclf.ops.stochastic_epoch.cpu_penalty import SMALLEST, SMALLEST_OF_SUMS, penalty_tables
from gpuclf.ops.stochastic_epoch.triton_penalty import paid_by_tables, paid_steadily

_TILE = 512  # weights that a program holds at once; more would be slow to compile, for all their logarithms


def stochastic_epoch(portion: Portion, rule: StochasticRule, model: StochasticModel) -> Tensor:
    """See `gpuclf.ops.stochastic_epoch`; at least one replica and two classes."""
    columns, replicas, classes = model.weights.shape
    device, none = model.weights.device, model.weights
    loss = torch.zeros(replicas, dtype=torch.float64, device=device)
    sizes = portion.sizes()
    if not sizes.numel():
        return loss
    squares = none if model.squares is None else model.squares
    sums = none if model.sums is None else model.sums
    tables = _tables(rule, sizes, model.sums is not None, device)
    padded = triton.next_power_of_2(classes)
    batch = int(sizes[0])
    by_score = torch.empty((replicas, batch, padded), dtype=torch.float64, device=device)
    gathered = torch.zeros((columns, replicas, classes) if rule.adaptive else (1, 1, 1), dtype=torch.float64).to(device)
    paid = torch.zeros((replicas, columns), dtype=torch.int64, device=device)
    _epoch_kernel[(replicas,)](
        portion.crow, portion.col, portion.val, portion.labels.contiguous(),
        _or(portion.col_scale, portion.val), _or(portion.row_scale, portion.val),
        portion.order.contiguous(), portion.weights.contiguous(), rule.rates.contiguous(),
        rule.ridge.contiguous(), rule.lasso.contiguous(), loss if rule.cost is None else rule.cost.contiguous(),
        *tables, paid, by_score, gathered, none, squares, sums, loss,
        portion.order.numel(), sizes.numel(), batch, replicas, columns, classes,
        none.stride(0), none.stride(1), squares.stride(0), squares.stride(1), sums.stride(0), sums.stride(1),
        KIND=KINDS[rule.kind], COSTS=rule.cost is not None, OFFSET=rule.offset, ADAPTIVE=rule.adaptive,
        AVERAGE=model.sums is not None,
        COL_SCALED=portion.col_scale is not None, ROW_SCALED=portion.row_scale is not None,
        CLASSES=padded, ENTRIES=max(1, min(32, _TILE // padded)),
        enable_fp_fusion=False,  # every product is rounded, as on the CPU
    )  # fmt: skip
    return loss


def _tables(rule: StochasticRule, sizes: Tensor, sums: bool, device: torch.device) -> list[Tensor]:
    """P, Q, ends of segments, and the sums of n P and n P Q, each (R, updates + 1); AdaGrad reads none of them."""
    if rule.adaptive:
        empty = torch.zeros((1, 1), dtype=torch.float64, device=device)
        return [empty, empty, empty.to(torch.int64), empty, empty]
    rates, ridge, lasso = rule.rates.cpu().numpy(), rule.ridge.tolist(), rule.lasso.tolist()
    smallest = SMALLEST_OF_SUMS if sums else SMALLEST
    made = [
        penalty_tables(rates[:, r].copy(), ridge[r], lasso[r], sizes.numpy(), smallest)[:5] for r in range(len(ridge))
    ]
    return [torch.stack([torch.from_numpy(part) for part in parts]).to(device) for parts in zip(*made, strict=True)]


def _or(scale: Tensor | None, other: Tensor) -> Tensor:
    return other if scale is None else scale.contiguous()


@triton.jit
def _values(
    col: tensor, val: tensor, col_scale: tensor, factor: tensor, at: tensor, end: tensor, COL_SCALED: tl.constexpr
) -> tuple[tensor, tensor]:
    """Columns and float64 values of the entries `at`; those from `end` on have value 0."""
    there = at < end
    v = tl.load(col + at, mask=there, other=0).to(tl.int64)
    x = tl.load(val + at, mask=there, other=0.0).to(tl.float64)
    if COL_SCALED:
        x = x * tl.load(col_scale + v, mask=there, other=0.0).to(tl.float64)
    return v, x * factor


@triton.jit
def _pay(
    v: tensor, chosen: tensor, until: tensor, updates: tensor, rate: tensor, ridge: tensor, lasso: tensor,
    product: tensor, owed: tensor, end: tensor, mass: tensor, moment: tensor, paid: tensor,
    weights: tensor, squares: tensor, sums: tensor, w0: tensor, q0: tensor, s0: tensor,
    classes: tensor, batch: tensor, missing: tensor,
    ADAPTIVE: tl.constexpr, AVERAGE: tl.constexpr, CLASSES: tl.constexpr,
) -> None:  # fmt: skip
    """The features v where `chosen` pay for all updates so far; missing: documents that the last update lacks."""
    since = tl.minimum(tl.load(paid + v, mask=chosen, other=until), until)
    k = tl.arange(0, CLASSES)[None, :]
    mask = (since < until)[:, None] & (k < classes)
    w = tl.load(weights + v[:, None] * w0 + k, mask=mask, other=0.0).to(tl.float64)
    if ADAPTIVE:
        square = tl.load(squares + v[:, None] * q0 + k, mask=mask, other=0.0).to(tl.float64)
        own = rate / (tl.sqrt(square) + 1e-10)
        short = tl.where(until == updates, missing, 0).to(tl.float64)
        w, more = paid_steadily(w, own, since, until, ridge, lasso, batch.to(tl.float64), short, AVERAGE)
    else:
        w, more = paid_by_tables(w, since, until, lasso, product, owed, end, mass, moment, AVERAGE)
    tl.store(weights + v[:, None] * w0 + k, w.to(weights.dtype.element_ty), mask=mask)
    if AVERAGE:
        at = sums + v[:, None] * s0 + k
        tl.store(at, tl.load(at, mask=mask, other=0.0) + more, mask=mask)
    tl.store(paid + v, since * 0 + until, mask=since < until)


@triton.jit
def _gradient(
    s: tensor, y: tensor, weight: tensor, cost: tensor, classes: tensor,
    KIND: tl.constexpr, COSTS: tl.constexpr, CLASSES: tl.constexpr,
) -> tuple[tensor, tensor]:  # fmt: skip
    """Weighted loss of one document with scores s (CLASSES,), and its gradient."""
    k = tl.arange(0, CLASSES)
    real = k < classes
    gold = tl.sum(tl.where(k == y, s, 0.0), axis=0)
    c = tl.where(real & (k != y), 0.0 if KIND == 3 else 1.0, 0.0)
    if COSTS and KIND != 3:
        c = tl.load(cost + y * classes + k, mask=real, other=0.0)
    if KIND == 0:
        top = tl.max(tl.where(real, s, -float("inf")), axis=0)
        e = tl.where(real, tl.exp(s - top), 0.0)
        total = tl.sum(e, axis=0)
        loss = top + tl.log(total) - gold
        pull = e / total
        pull = tl.where(k == y, -tl.sum(tl.where(k == y, 0.0, pull), axis=0), pull)
    elif KIND == 2:
        behind = tl.where(real & (k != y), tl.maximum(s + c - gold, 0.0), 0.0)
        loss = tl.sum(behind * behind, axis=0)
        pull = tl.where(k == y, -2.0 * tl.sum(behind, axis=0), 2.0 * behind)
    else:
        charged = tl.where(real & (k != y), s + c, -float("inf"))
        height = tl.max(charged, axis=0)
        rival = tl.min(tl.where(charged == height, k, CLASSES), axis=0)
        loss = tl.maximum(height - gold, 0.0)
        pull = tl.where(k == rival, 1.0, tl.where(k == y, -1.0, 0.0))
        if KIND == 3:  # a tie that goes to another class is a wrong prediction
            pull = tl.where((height > gold) | ((height == gold) & (rival < y)), pull, 0.0)
        else:
            pull = tl.where(height > gold, pull, 0.0)
    counts = weight > 0.0
    return tl.where(counts, weight * loss, 0.0), tl.where(counts, weight * pull, 0.0)


@triton.jit
def _score(
    n: tensor, crow: tensor, col: tensor, val: tensor, col_scale: tensor, factor: tensor, until: tensor,
    updates: tensor, rate: tensor, ridge: tensor, lasso: tensor,
    product: tensor, owed: tensor, end: tensor, mass: tensor, moment: tensor, paid: tensor,
    weights: tensor, squares: tensor, sums: tensor, w0: tensor, q0: tensor, s0: tensor,
    classes: tensor, batch: tensor, missing: tensor,
    OFFSET: tl.constexpr, ADAPTIVE: tl.constexpr, AVERAGE: tl.constexpr, COL_SCALED: tl.constexpr,
    CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> tensor:  # fmt: skip
    """Scores (CLASSES,) float64 of a document, whose features pay first."""
    begin = tl.load(crow + n)
    stop = tl.load(crow + n + 1)
    k, lane = tl.arange(0, CLASSES), tl.arange(0, ENTRIES)
    for e in range(begin, stop, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, stop, COL_SCALED)
        _pay(v, x != 0.0, until, updates, rate, ridge, lasso, product, owed, end, mass, moment, paid,
             weights, squares, sums, w0, q0, s0, classes, batch, missing, ADAPTIVE, AVERAGE, CLASSES)  # fmt: skip
    tl.debug_barrier()
    s = tl.zeros([CLASSES], dtype=tl.float64)
    if OFFSET:
        s += tl.load(weights + k, mask=k < classes, other=0.0).to(tl.float64)
    for e in range(begin, stop, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, stop, COL_SCALED)
        mask = (x != 0.0)[:, None] & (k < classes)[None, :]
        tile = tl.load(weights + v[:, None] * w0 + k[None, :], mask=mask, other=0.0)
        s += tl.sum(tile.to(tl.float64) * x[:, None], axis=0)
    return s


@triton.jit
def _scatter(
    n: tensor, crow: tensor, col: tensor, val: tensor, col_scale: tensor, factor: tensor, amount: tensor,
    target: tensor, t0: tensor, classes: tensor,
    COL_SCALED: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> None:  # fmt: skip
    """x · amount (CLASSES,) is added to the cells of a document's features, but for the offset."""
    end = tl.load(crow + n + 1)
    k, lane = tl.arange(0, CLASSES), tl.arange(0, ENTRIES)
    for e in range(tl.load(crow + n), end, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, end, COL_SCALED)
        mask = (x != 0.0)[:, None] & (k < classes)[None, :]
        at = target + v[:, None] * t0 + k[None, :]
        new = tl.load(at, mask=mask, other=0.0).to(tl.float64) + x[:, None] * amount[None, :]
        tl.store(at, new.to(target.dtype.element_ty), mask=mask)
    tl.debug_barrier()


@triton.jit
def _adapt(at: tensor, also: tensor, g: tensor, mask: tensor, rate: tensor) -> None:
    """AdaGrad's step of the weights `at` with squares `also` by the gradient g."""
    square = (tl.load(also, mask=mask, other=0.0).to(tl.float64) + g * g).to(also.dtype.element_ty)
    tl.store(also, square, mask=mask)
    w = tl.load(at, mask=mask, other=0.0).to(tl.float64) - rate / (tl.sqrt(square.to(tl.float64)) + 1e-10) * g
    tl.store(at, w.to(at.dtype.element_ty), mask=mask)


@triton.jit
def _adapt_row(
    n: tensor, crow: tensor, col: tensor, val: tensor, col_scale: tensor, factor: tensor, rate: tensor, size: tensor,
    gathered: tensor, g0: tensor, weights: tensor, w0: tensor, squares: tensor, q0: tensor, classes: tensor,
    COL_SCALED: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> None:  # fmt: skip
    """The features of a document take their gathered gradients, which are 0 afterwards: no feature takes them twice."""
    end = tl.load(crow + n + 1)
    k, lane = tl.arange(0, CLASSES), tl.arange(0, ENTRIES)
    for e in range(tl.load(crow + n), end, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, end, COL_SCALED)
        mask = (x != 0.0)[:, None] & (k < classes)[None, :]
        at = gathered + v[:, None] * g0 + k[None, :]
        g = tl.load(at, mask=mask, other=0.0) / size
        tl.store(at, g * 0.0, mask=mask)
        _adapt(weights + v[:, None] * w0 + k[None, :], squares + v[:, None] * q0 + k[None, :], g, mask, rate)
    tl.debug_barrier()


@triton.jit
def _step_offset(
    common: tensor, size: tensor, rate: tensor, weights: tensor, squares: tensor, sums: tensor, classes: tensor,
    OFFSET: tl.constexpr, ADAPTIVE: tl.constexpr, AVERAGE: tl.constexpr, CLASSES: tl.constexpr,
) -> None:  # fmt: skip
    """The step of the offset after a portion of `size` rows whose gradients sum to `common`, and its mean."""
    k = tl.arange(0, CLASSES)
    real = k < classes
    if OFFSET:
        if ADAPTIVE:
            _adapt(weights + k, squares + k, common / size, real, rate)
        else:
            old = tl.load(weights + k, mask=real, other=0.0).to(tl.float64)
            tl.store(weights + k, (old - rate / size * common).to(weights.dtype.element_ty), mask=real)
        tl.debug_barrier()
    if AVERAGE:
        now = tl.load(weights + k, mask=real, other=0.0).to(tl.float64)
        tl.store(sums + k, tl.load(sums + k, mask=real, other=0.0) + size * now, mask=real)


@triton.jit
def _epoch_kernel(
    crow: tensor, col: tensor, val: tensor, labels: tensor, col_scale: tensor, row_scale: tensor,
    order: tensor, counts: tensor, rates: tensor, ridges: tensor, lassos: tensor, cost: tensor,
    product: tensor, owed: tensor, end: tensor, mass: tensor, moment: tensor,
    paid: tensor, by_score: tensor, gathered: tensor, weights: tensor, squares: tensor, sums: tensor, losses: tensor,
    docs: tensor, updates: tensor, batch: tensor, replicas: tensor, columns: tensor, classes: tensor,
    w0: tensor, w1: tensor, q0: tensor, q1: tensor, s0: tensor, s1: tensor,
    KIND: tl.constexpr, COSTS: tl.constexpr, OFFSET: tl.constexpr, ADAPTIVE: tl.constexpr, AVERAGE: tl.constexpr,
    COL_SCALED: tl.constexpr, ROW_SCALED: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> None:  # fmt: skip
    r = tl.program_id(0).to(tl.int64)
    weights += r * w1
    squares += r * q1
    sums += r * s1
    gathered += r * classes
    g0 = replicas * classes
    paid += r * columns
    by_score += r * batch * CLASSES
    if ADAPTIVE == 0:
        product += r * (updates + 1)
        owed += r * (updates + 1)
        end += r * (updates + 1)
        mass += r * (updates + 1)
        moment += r * (updates + 1)
    ridge = tl.load(ridges + r)
    lasso = tl.load(lassos + r)
    steady = tl.load(rates + r)
    missing = updates * batch - docs
    k, lane = tl.arange(0, CLASSES), tl.arange(0, ENTRIES)
    total = steady * 0.0
    for t in range(updates):
        until = tl.zeros([], dtype=tl.int64) + t
        size = tl.minimum(batch, docs - t * batch)
        rate = tl.load(rates + t * replicas + r)
        common = tl.zeros([CLASSES], dtype=tl.float64)
        for b in range(size):
            n = tl.load(order + t * batch + b)
            factor = tl.load(row_scale + n).to(tl.float64) if ROW_SCALED else total * 0.0 + 1.0
            s = _score(n, crow, col, val, col_scale, factor, until, updates, steady, ridge, lasso,
                       product, owed, end, mass, moment, paid, weights, squares, sums, w0, q0, s0,
                       classes, batch, missing, OFFSET, ADAPTIVE, AVERAGE, COL_SCALED, CLASSES, ENTRIES)  # fmt: skip
            loss, g = _gradient(s, tl.load(labels + n), tl.load(counts + n * replicas + r), cost, classes,
                                KIND, COSTS, CLASSES)  # fmt: skip
            tl.store(by_score + b * CLASSES + k, g)
            total += loss
            common += g
        tl.debug_barrier()
        for b in range(size):
            n = tl.load(order + t * batch + b)
            factor = tl.load(row_scale + n).to(tl.float64) if ROW_SCALED else total * 0.0 + 1.0
            g = tl.load(by_score + b * CLASSES + k)
            if ADAPTIVE:
                _scatter(n, crow, col, val, col_scale, factor, g, gathered, g0, classes,
                         COL_SCALED, CLASSES, ENTRIES)  # fmt: skip
            else:
                _scatter(n, crow, col, val, col_scale, factor, -rate / size * g, weights, w0, classes,
                         COL_SCALED, CLASSES, ENTRIES)  # fmt: skip
        if ADAPTIVE:
            for b in range(size):
                n = tl.load(order + t * batch + b)
                factor = tl.load(row_scale + n).to(tl.float64) if ROW_SCALED else total * 0.0 + 1.0
                _adapt_row(n, crow, col, val, col_scale, factor, rate, size, gathered, g0, weights, w0, squares, q0,
                           classes, COL_SCALED, CLASSES, ENTRIES)  # fmt: skip
        _step_offset(common, size, rate, weights, squares, sums, classes, OFFSET, ADAPTIVE, AVERAGE, CLASSES)
    everything = tl.zeros([], dtype=tl.int64) + updates
    for begin in range(1, columns, ENTRIES):
        v = (begin + lane).to(tl.int64)
        _pay(v, v < columns, everything, updates, steady, ridge, lasso, product, owed, end, mass, moment, paid,
             weights, squares, sums, w0, q0, s0, classes, batch, missing, ADAPTIVE, AVERAGE, CLASSES)  # fmt: skip
    tl.store(losses + r, total)
