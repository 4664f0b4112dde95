"""The epoch as one Triton program per replica, which walks the rows of its stream exactly as the CPU does.

A row's entries are gathered in portions of ENTRIES, each with the K weights of its feature (K padded to a power of
two). Programs share no output cell. What a program wrote at a row it reads again at the next: a barrier lies between.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import tensor

from gpuclf.ops.instance_epoch.records import FOLD_BELOW, SMALLEST_SIGMA, InstanceModel, InstanceRule
from gpuclf.ops.instance_epoch.triton_decision import decide
from gpuclf.ops.online_epoch.records import Counts, ScaledRows, Streams, no_counts

_KINDS = {"variance": 0, "scw1": 1, "scw2": 2, "arow": 3, "svm": 4}
_TILE = 4096  # weights that a program holds at once


def instance_epoch(
    rows: ScaledRows, streams: Streams, rule: InstanceRule, model: InstanceModel, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.instance_epoch`; at least one replica and two classes."""
    columns, replicas, classes = model.weights.shape
    counts = no_counts(model.steps)
    sizes = streams.start[1:] - streams.start[:-1]
    stream = torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes, output_size=replicas)
    order = streams.order.contiguous()
    lengths = (order >= 0).sum(1)
    first, second = (number.contiguous() for number in rule.numbers())
    padded = triton.next_power_of_2(classes)
    none = model.weights
    sums = none if model.sums is None else model.sums
    sigma = none if model.covariance is None else model.covariance
    cost = first if rule.cost is None else rule.cost.contiguous()
    decided = torch.empty((replicas, batch if batch > 1 else 1, 4), dtype=torch.float64, device=order.device)
    _epoch_kernel[(replicas,)](
        rows.crow, rows.col, rows.val, rows.labels.contiguous(),
        _or(rows.col_scale, rows.val), _or(rows.row_scale, rows.val),
        order, lengths, streams.view.contiguous(), stream, none, sums, sigma, cost, first, second, model.steps,
        counts.mistakes, counts.updates, counts.loss, decided,
        batch, order.shape[1], rows.labels.numel(), columns, classes,
        none.stride(0), none.stride(1), sums.stride(0), sums.stride(1), sigma.stride(0), sigma.stride(1),
        KIND=_KINDS[rule.kind], PRECISION=rule.diagonal == "precision", INVERSE=rule.eta is None,
        BATCHES=batch > 1, MEAN=mean, COSTS=rule.cost is not None, AVERAGE=model.sums is not None,
        FLOOR=FOLD_BELOW, LEAST=SMALLEST_SIGMA,
        COL_SCALED=rows.col_scale is not None, ROW_SCALED=rows.row_scale is not None,
        CLASSES=padded, ENTRIES=max(1, min(64, _TILE // padded)),
        enable_fp_fusion=False,  # every product is rounded, as on the CPU
    )  # fmt: skip
    return counts


def _or(scale: Tensor | None, other: Tensor) -> Tensor:
    return other if scale is None else scale.contiguous()


@triton.jit
def _row(
    n: tensor, crow: tensor, labels: tensor, row_scale: tensor, zero: tensor, ROW_SCALED: tl.constexpr
) -> tuple[tensor, tensor, tensor, tensor]:
    """Label, first entry, entry after the last, and factor of row n."""
    factor = tl.load(row_scale + n).to(tl.float64) if ROW_SCALED else zero + 1.0
    return tl.load(labels + n), tl.load(crow + n), tl.load(crow + n + 1), factor


@triton.jit
def _values(
    col: tensor, val: tensor, col_scale: tensor, factor: tensor, at: tensor, end: tensor, view: tensor, columns: tensor,
    COL_SCALED: tl.constexpr,
) -> tuple[tensor, tensor]:  # fmt: skip
    """Columns and float64 values of the entries `at`; those from `end` on have value 0."""
    there = at < end
    v = tl.load(col + at, mask=there, other=0).to(tl.int64)
    x = tl.load(val + at, mask=there, other=0.0).to(tl.float64)
    if COL_SCALED:
        x = x * tl.load(col_scale + view * columns + v, mask=there, other=0.0).to(tl.float64)
    return v, x * factor


@triton.jit
def _add(flat: tensor, cell: tensor, change: tensor, mask: tensor) -> tensor:
    """Adds to the cells in float64; how many of them are no finite numbers then."""
    new = (tl.load(flat + cell, mask=mask, other=0.0).to(tl.float64) + change).to(flat.dtype.element_ty)
    tl.store(flat + cell, new, mask=mask)
    wide = new.to(tl.float64)
    return tl.sum(tl.where(mask & (wide - wide != 0.0), 1, 0), axis=0)


@triton.jit
def _learn(
    v: tensor, x: tensor, mask: tensor, k: tensor, amount: tensor, rho: tensor, beta: tensor, before: tensor,
    weights: tensor, sums: tensor, sigma: tensor, w0: tensor, u0: tensor, c0: tensor,
    KIND: tl.constexpr, PRECISION: tl.constexpr, AVERAGE: tl.constexpr, LEAST: tl.constexpr,
    MOVE: tl.constexpr, SHRINK: tl.constexpr,
) -> tensor:  # fmt: skip
    """Class k of one portion of a row; how many cells are no finite numbers afterwards."""
    change = amount * x
    if KIND < 4:
        at = sigma + v * c0 + k
        old = tl.load(at, mask=mask, other=0.0).to(tl.float64)
        change = amount * old * x
        if SHRINK:
            new = old * (1.0 - beta * (x * x) * old)
            if PRECISION:
                new = old / (1.0 + rho * (x * x) * old)
            new = tl.maximum(new, LEAST)
            tl.store(at, new.to(sigma.dtype.element_ty), mask=mask)
    bad = tl.sum(tl.where(mask & (x - x != 0.0), 1, 0), axis=0)  # none: x is finite
    if MOVE:
        bad += _add(weights, v * w0 + k, change, mask)
        if AVERAGE:
            bad += _add(sums, v * u0 + k, before * change, mask)
    return bad


@triton.jit
def _change(
    col: tensor, val: tensor, col_scale: tensor, factor: tensor, begin: tensor, end: tensor, view: tensor,
    columns: tensor, y: tensor, rival: tensor, amount: tensor, rho: tensor, beta: tensor, before: tensor,
    weights: tensor, sums: tensor, sigma: tensor, w0: tensor, u0: tensor, c0: tensor,
    KIND: tl.constexpr, PRECISION: tl.constexpr, AVERAGE: tl.constexpr, LEAST: tl.constexpr,
    MOVE: tl.constexpr, SHRINK: tl.constexpr, COL_SCALED: tl.constexpr, ENTRIES: tl.constexpr,
) -> tensor:  # fmt: skip
    """The update of a row, the offset first; how many cells are no finite numbers afterwards."""
    lane = tl.arange(0, ENTRIES)
    first = lane == 0
    one = tl.where(first, 1.0, 0.0).to(tl.float64)
    bad = _learn(lane * 0, one, first, y, amount, rho, beta, before,
                 weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST, MOVE, SHRINK)  # fmt: skip
    bad += _learn(lane * 0, one, first, rival, -amount, rho, beta, before,
                  weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST, MOVE, SHRINK)  # fmt: skip
    for e in range(begin, end, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, end, view, columns, COL_SCALED)
        bad += _learn(v, x, x != 0.0, y, amount, rho, beta, before,
                      weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST, MOVE, SHRINK)  # fmt: skip
        bad += _learn(v, x, x != 0.0, rival, -amount, rho, beta, before,
                      weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST, MOVE, SHRINK)  # fmt: skip
    return bad


@triton.jit
def _change_batch(
    crow: tensor, col: tensor, val: tensor, labels: tensor, col_scale: tensor, row_scale: tensor, order: tensor,
    first: tensor, last: tensor, view: tensor, docs: tensor, columns: tensor, decided: tensor, before: tensor,
    weights: tensor, sums: tensor, sigma: tensor, w0: tensor, u0: tensor, c0: tensor,
    KIND: tl.constexpr, PRECISION: tl.constexpr, AVERAGE: tl.constexpr, LEAST: tl.constexpr, MEAN: tl.constexpr,
    COL_SCALED: tl.constexpr, ROW_SCALED: tl.constexpr, ENTRIES: tl.constexpr,
) -> tensor:  # fmt: skip
    """The updates of the rows order[first:last]: all steps, then what they teach of the variances."""
    share = 1.0 / (last - first).to(tl.float64) if MEAN else before * 0.0 + 1.0
    bad = first * 0
    for turn in range(2):
        for b in range(first, last):
            n = tl.load(order + b)
            factor = tl.load(row_scale + view * docs + n).to(tl.float64) if ROW_SCALED else before * 0.0 + 1.0
            place = decided + (b - first) * 4
            amount = share * tl.load(place)
            rho = share * tl.load(place + 1)
            beta = share * tl.load(place + 2)
            rival = tl.load(place + 3).to(tl.int64)
            y = tl.load(labels + n)
            begin = tl.load(crow + n)
            end = tl.load(crow + n + 1)
            if amount > 0.0:
                if turn == 0:
                    more = _change(col, val, col_scale, factor, begin, end, view, columns, y, rival, amount, rho, beta,
                                   before, weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST,
                                   True, False, COL_SCALED, ENTRIES)  # fmt: skip
                    bad += tl.where(more > 0, 1, 0)
                else:
                    _change(col, val, col_scale, factor, begin, end, view, columns, y, rival, amount, rho, beta,
                            before, weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST,
                            False, True, COL_SCALED, ENTRIES)  # fmt: skip
                tl.debug_barrier()
    return bad


@triton.jit
def _scores(
    col: tensor, val: tensor, col_scale: tensor, factor: tensor, begin: tensor, end: tensor, view: tensor,
    columns: tensor, weights: tensor, classes: tensor, w0: tensor,
    COL_SCALED: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> tensor:  # fmt: skip
    """x·W (CLASSES,) float64 of a row, 0 beyond the last class."""
    k, lane = tl.arange(0, CLASSES), tl.arange(0, ENTRIES)
    s = tl.load(weights + k, mask=k < classes, other=0.0).to(tl.float64)
    for e in range(begin, end, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, end, view, columns, COL_SCALED)
        mask = (x != 0.0)[:, None] & (k < classes)[None, :]
        tile = tl.load(weights + v[:, None] * w0 + k[None, :], mask=mask, other=0.0)
        s += tl.sum(tile.to(tl.float64) * x[:, None], axis=0)
    return s


@triton.jit
def _variance(
    col: tensor, val: tensor, col_scale: tensor, factor: tensor, begin: tensor, end: tensor, view: tensor,
    columns: tensor, sigma: tensor, y: tensor, rival: tensor, c0: tensor,
    COL_SCALED: tl.constexpr, ENTRIES: tl.constexpr,
) -> tensor:  # fmt: skip
    """v = sum of x² (σ_y + σ_rival) over a row and the offset."""
    lane = tl.arange(0, ENTRIES)
    spread = tl.load(sigma + y).to(tl.float64) + tl.load(sigma + rival).to(tl.float64)
    for e in range(begin, end, ENTRIES):
        v, x = _values(col, val, col_scale, factor, e + lane, end, view, columns, COL_SCALED)
        both = tl.load(sigma + v * c0 + y, mask=x != 0.0, other=0.0).to(tl.float64)
        both += tl.load(sigma + v * c0 + rival, mask=x != 0.0, other=0.0).to(tl.float64)
        spread += tl.sum(x * x * both, axis=0)
    return spread


@triton.jit
def _first(values: tensor, allowed: tensor, classes: tensor, CLASSES: tl.constexpr) -> tuple[tensor, tensor]:
    """The lowest of the allowed classes with the highest value, and that value; a class whatever the values are."""
    k = tl.arange(0, CLASSES)
    inside = tl.where(allowed, values, -float("inf"))
    top = tl.max(inside, axis=0)
    return tl.minimum(tl.min(tl.where(allowed & (inside == top), k, CLASSES), axis=0), classes - 1), top


@triton.jit
def _fold(
    weights: tensor, sums: tensor, scale: tensor, factor: tensor,
    columns: tensor, classes: tensor, w0: tensor, u0: tensor,
    AVERAGE: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> None:  # fmt: skip
    """The weights take over the scale; factor · what they were goes to the sums."""
    k = tl.arange(0, CLASSES)[None, :]
    for begin in range(0, columns, ENTRIES):
        v = (begin + tl.arange(0, ENTRIES)).to(tl.int64)[:, None]
        mask = (v < columns) & (k < classes)
        old = tl.load(weights + v * w0 + k, mask=mask, other=0.0).to(tl.float64)
        tl.store(weights + v * w0 + k, (scale * old).to(weights.dtype.element_ty), mask=mask)
        if AVERAGE:
            total = tl.load(sums + v * u0 + k, mask=mask, other=0.0).to(tl.float64) + factor * old
            tl.store(sums + v * u0 + k, total.to(sums.dtype.element_ty), mask=mask)


@triton.jit
def _confident(
    col: tensor, val: tensor, col_scale: tensor, factor: tensor, begin: tensor, end: tensor, view: tensor,
    columns: tensor, classes: tensor, sigma: tensor, c0: tensor,
    s: tensor, gold: tensor, y: tensor, first: tensor, second: tensor,
    KIND: tl.constexpr, COL_SCALED: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> tuple[tensor, tensor, tensor, tensor, tensor]:  # fmt: skip
    """Rival, α, ρ, β and violation of a row with scores s, of which `gold` is that of class y."""
    k = tl.arange(0, CLASSES)
    rival, _ = _first(s, (k < classes) & (k != y), classes, CLASSES)
    margin = gold - tl.sum(tl.where(k == rival, s, 0.0), axis=0)
    spread = _variance(col, val, col_scale, factor, begin, end, view, columns, sigma, y, rival, c0,
                       COL_SCALED, ENTRIES)  # fmt: skip
    amount, rho, beta, violation = decide(margin, spread, first, second, KIND)
    return rival, amount, rho, beta, violation


@triton.jit
def _decaying(
    cost: tensor, classes: tensor, s: tensor, gold: tensor, y: tensor, first: tensor, second: tensor,
    scale: tensor, seen: tensor, INVERSE: tl.constexpr, COSTS: tl.constexpr, CLASSES: tl.constexpr,
) -> tuple[tensor, tensor, tensor, tensor]:  # fmt: skip
    """Highest class by score + cost, what an update adds to V, the scale afterwards, and the violation."""
    k = tl.arange(0, CLASSES)
    c = tl.load(cost + y * classes + k, mask=k < classes, other=0.0) if COSTS else tl.where(k == y, 0.0, 1.0)
    rival, top = _first(scale * s + c, k < classes, classes, CLASSES)
    rate = 1.0 / (second * (seen + 1.0)) if INVERSE else first
    keep = tl.where(seen > 0.0, 1.0 - 1.0 / (seen + 1.0), 1.0) if INVERSE else 1.0 - second
    return rival, rate / (scale * keep), scale * keep, top - scale * gold


@triton.jit
def _lowered(
    weights: tensor, sums: tensor, scale: tensor, total: tensor, seen: tensor,
    columns: tensor, classes: tensor, w0: tensor, u0: tensor,
    FLOOR: tl.constexpr, AVERAGE: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> tuple[tensor, tensor]:  # fmt: skip
    """Scale and its sum after a row; a scale below FLOOR goes into the weights."""
    total += scale
    if scale < FLOOR:
        tl.debug_barrier()
        _fold(weights, sums, scale, seen * scale - total, columns, classes, w0, u0, AVERAGE, CLASSES, ENTRIES)
        tl.debug_barrier()
        scale = scale * 0.0 + 1.0
        total = seen
    return scale, total


@triton.jit
def _keep(place: tensor, amount: tensor, rho: tensor, beta: tensor, rival: tensor) -> None:
    """What was decided of a row, for the end of its batch."""
    tl.store(place, amount)
    tl.store(place + 1, rho)
    tl.store(place + 2, beta)
    tl.store(place + 3, rival.to(tl.float64))


@triton.jit
def _epoch_kernel(
    crow: tensor, col: tensor, val: tensor, labels: tensor, col_scale: tensor, row_scale: tensor,
    order: tensor, lengths: tensor, views: tensor, streams: tensor, weights: tensor, sums: tensor, sigma: tensor,
    cost: tensor, firsts: tensor, seconds: tensor, steps: tensor, mistakes: tensor, updates: tensor, losses: tensor,
    decided: tensor, batch: tensor, longest: tensor, docs: tensor, columns: tensor, classes: tensor,
    w0: tensor, w1: tensor, u0: tensor, u1: tensor, c0: tensor, c1: tensor,
    KIND: tl.constexpr, PRECISION: tl.constexpr, INVERSE: tl.constexpr, COSTS: tl.constexpr, AVERAGE: tl.constexpr,
    BATCHES: tl.constexpr, MEAN: tl.constexpr, FLOOR: tl.constexpr, LEAST: tl.constexpr,
    COL_SCALED: tl.constexpr, ROW_SCALED: tl.constexpr, CLASSES: tl.constexpr, ENTRIES: tl.constexpr,
) -> None:  # fmt: skip
    r = tl.program_id(0).to(tl.int64)
    g = tl.load(streams + r)
    view = tl.load(views + g)
    weights += r * w1
    sums += r * u1
    sigma += r * c1
    first = tl.load(firsts + r)
    second = tl.load(seconds + r)
    k = tl.arange(0, CLASSES)
    seen = tl.load(steps + r).to(tl.float64)
    zero = seen * 0.0
    total, scale, loss = seen, zero + 1.0, zero  # A and a of gpuclf.ops.instance_epoch
    wrong = tl.load(mistakes + r)
    updated = tl.load(updates + r)
    length = tl.load(lengths + g)
    for t in range(length):
        y, begin, end, factor = _row(tl.load(order + g * longest + t), crow, labels, row_scale + view * docs, zero,
                                     ROW_SCALED)  # fmt: skip
        s = _scores(col, val, col_scale, factor, begin, end, view, columns, weights, classes, w0,
                    COL_SCALED, CLASSES, ENTRIES)  # fmt: skip
        wrong += tl.where(_first(s, k < classes, classes, CLASSES)[0] != y, 1, 0)
        gold = tl.sum(tl.where(k == y, s, 0.0), axis=0)
        if KIND < 4:
            rival, amount, rho, beta, violation = _confident(
                col, val, col_scale, factor, begin, end, view, columns, classes, sigma, c0, s, gold, y, first, second,
                KIND, COL_SCALED, CLASSES, ENTRIES)  # fmt: skip
            learns, before = amount > 0.0, seen
        else:
            rival, amount, scale, violation = _decaying(
                cost, classes, s, gold, y, first, second, scale, seen, INVERSE, COSTS, CLASSES)  # fmt: skip
            learns, before, rho, beta = rival != y, total, zero, zero
        if BATCHES:
            _keep(decided + (r * batch + t % batch) * 4, amount, rho, beta, rival)
            updated += tl.where(learns, 1, 0)
            if (t % batch == batch - 1) | (t == length - 1):
                tl.debug_barrier()
                bad = _change_batch(
                    crow, col, val, labels, col_scale, row_scale, order + g * longest, t - t % batch, t + 1, view, docs,
                    columns, decided + r * batch * 4, seen - (t % batch), weights, sums, sigma, w0, u0, c0,
                    KIND, PRECISION, AVERAGE, LEAST, MEAN, COL_SCALED, ROW_SCALED, ENTRIES)  # fmt: skip
                violation = tl.where(bad > 0, float("nan"), violation)
        elif learns:
            tl.debug_barrier()
            bad = _change(col, val, col_scale, factor, begin, end, view, columns, y, rival, amount, rho, beta, before,
                          weights, sums, sigma, w0, u0, c0, KIND, PRECISION, AVERAGE, LEAST, True, True, COL_SCALED,
                          ENTRIES)  # fmt: skip
            tl.debug_barrier()
            updated += 1
            violation = tl.where(bad > 0, float("nan"), violation)
        loss += violation
        seen += 1.0
        if KIND == 4:
            scale, total = _lowered(weights, sums, scale, total, seen, columns, classes, w0, u0,
                                    FLOOR, AVERAGE, CLASSES, ENTRIES)  # fmt: skip
    if KIND == 4 and scale != 1.0:
        tl.debug_barrier()
        _fold(weights, sums, scale, seen * scale - total, columns, classes, w0, u0, AVERAGE, CLASSES, ENTRIES)
    tl.store(mistakes + r, wrong)
    tl.store(updates + r, updated)
    tl.store(losses + r, loss)
