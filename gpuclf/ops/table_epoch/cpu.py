"""A table in an epoch for the CPU: a row makes up for the steps that it has missed when it is wanted.

In a step without gradient Adam moves a weight by c_j m / (√v d_j + ε), where m and v are its moments after the last
gradient and c_j = size · β1^j, d_j = root · β2^(j/2) are the same for all weights last changed at the same step. So
the missed steps are one sum over j. The d_j lie close together, and 1 / (√v d + ε) is smooth in d: with the moments
C_k = Σ c_j (d_j - d̄)^k about their mean d̄ (C_1 = 0) the sum is (C_0 + C_2 u² - C_3 u³) y + …, y = 1 / (√v d̄ + ε),
u = √v y: one division a weight however many steps were missed. Where C_4 says that this is not exact to float32 (in
the first steps, whose corrections change fast) the sum is taken term by term. With weight decay in the gradient a step
depends on the weight itself, and rows repeat their steps one by one.

Moments that have become so small that they change no weight are set to 0: they would shrink on into numbers below the
smallest normal one, with which a CPU calculates a hundred times more slowly.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.kernel import inner_kernel, kernel
from gpuclf.ops.table_epoch.records import KINDS, Steps, UpdateRule, Weights
from gpuclf.ops.table_epoch.reference import adam_scales

divide = np.true_divide  # numba's own / may raise, and then no loop around it is vectorised
_SGD, _MOMENTUM, _ADAGRAD, _ADADELTA, _ADAM, _ADAMW = range(6)
_NEGLIGIBLE = 1e-10  # what a step may have of the first one's size to be left out of a sum
_EXACT = 1e-8  # the largest part of a sum that the term after the last may have


def update_all(weights: Weights, gradient: Tensor, rule: UpdateRule, steps: Steps, step: int, decayed: Tensor) -> None:
    """See gpuclf.ops.table_epoch.update_all."""
    size, root = _scales(rule, steps, step, step + 1)
    value = weights.value.numpy()
    first, second = _moments(weights)
    constants = _constants(rule, value.dtype)
    for r in range(value.shape[0]):
        numbers = np.array([size[r, 0], root[r, 0], steps.rates[step, r]], dtype=value.dtype)
        decay = (decayed.numpy() * float(steps.decay[r])).astype(value.dtype)
        _step(KINDS[rule.kind], value[r], first[r], second[r], gradient[r].numpy(), decay, numbers, constants)


def bag_sums(table: Tensor, crow: Tensor, col: Tensor, val: Tensor) -> Tensor:
    """See gpuclf.ops.table_epoch.bag_sums."""
    replicas, features, width = table.shape
    out = torch.zeros(crow.numel() - 1, width, dtype=table.dtype)
    each = max(1, out.shape[0] // replicas)
    _sums(table.view(-1, width).numpy(), crow.numpy(), col.numpy(), val.numpy(), each, features, out.numpy())
    return out


class TableEpoch:
    """See gpuclf.ops.table_epoch.records.TableEpoch."""

    def __init__(self, table: Weights, rule: UpdateRule, steps: Steps):
        replicas, self._features, self._width = table.value.shape
        self._kind, self._dtype = KINDS[rule.kind], table.value.dtype
        self._value = table.value.view(-1, self._width).numpy()
        first, second = _moments(table)
        rows = replicas * self._features
        self._first, self._second = first.reshape(rows, first.shape[-1]), second.reshape(rows, second.shape[-1])
        number = steps.rates.shape[0]
        size, root = _scales(rule, steps, 0, number)
        self._scales = np.stack([size, root, steps.rates.numpy().T], axis=2)  # (R, n, 3)
        self._decay = steps.decay.numpy().astype(np.float64)
        self._powers = np.stack([rule.momentum ** np.arange(number + 1.0), rule.memory ** np.arange(number + 1.0)])
        self._constants = _constants(rule, self._value.dtype)
        self._window = int(math.log(_NEGLIGIBLE) / math.log(rule.momentum)) if 0 < rule.momentum < 1 else number
        self._series = np.zeros((replicas, number + 1, 6))  # by the step that a row was last changed at
        self._series[:, :, 5] = 1.0
        self._last = np.zeros(self._value.shape[0], dtype=np.int32)
        self._slot = np.full(self._value.shape[0], -1, dtype=np.int64)
        self._buffer = np.empty((0, self._width), dtype=self._value.dtype)
        self._made = 0

    def sums(self, crow: Tensor, col: Tensor, val: Tensor) -> Tensor:
        out = torch.zeros(crow.numel() - 1, self._width, dtype=self._dtype)
        each = max(1, out.shape[0] // self._series.shape[0])
        place = _places(crow.numpy(), col.numpy(), each, self._features)
        self._make_up(place)
        _sums(self._value, crow.numpy(), place, val.numpy(), each, 0, out.numpy())
        return out

    def gradients(self, crow: Tensor, col: Tensor, val: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
        each = max(1, (crow.numel() - 1) // self._series.shape[0])
        place = _places(crow.numpy(), col.numpy(), each, self._features)
        rows = np.empty(place.size, dtype=np.int64)
        number = _number(place, self._slot, rows)
        if number > self._buffer.shape[0]:  # kept from step to step: fresh memory costs more than what is done in it
            self._buffer = np.empty((2 * number, self._width), dtype=self._value.dtype)
        out = self._buffer[:number]
        out.fill(0)
        _gather(crow.numpy(), place, val.numpy(), grad.contiguous().numpy(), self._slot, out)
        self._slot[rows[:number]] = -1
        return torch.from_numpy(rows[:number]), torch.from_numpy(out)

    def update(self, rows: Tensor, gradient: Tensor) -> None:
        self._make_up(rows.numpy())
        _change(
            self._kind, self._value, self._first, self._second, self._last, rows.numpy(), gradient.numpy(),
            self._scales, self._decay, self._constants, self._features, self._made,
        )  # fmt: skip
        _lengthen(self._series, self._scales, self._decay, self._powers, self._made, self._window)
        self._made += 1

    def settle(self) -> None:
        self._make_up(np.arange(self._value.shape[0]))

    def _make_up(self, rows: NDArray[np.int64]) -> None:
        _make_up(
            self._kind, self._value, self._first, self._second, self._last, rows, self._series, self._scales,
            self._decay, self._powers, self._constants, self._features, self._made, self._window,
        )  # fmt: skip


def _moments(weights: Weights) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """The moments as arrays; of size 0 where the rule has none."""
    none = np.zeros((*weights.value.shape[:-1], 0), dtype=weights.value.numpy().dtype)
    first = none if weights.first is None else weights.first.numpy()
    return first, none if weights.second is None else weights.second.numpy()


def _scales(rule: UpdateRule, steps: Steps, start: int, stop: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(R, n) each, of the steps start … stop - 1: the size of each, and what √v is multiplied by (of Adam; else the
    rate, and 1)."""
    rates = steps.rates[start:stop].T
    if rule.kind not in ("adam", "adamw"):
        return rates.numpy(), np.ones(tuple(rates.shape))
    size, root = adam_scales(rule, rates, steps.before[:, None] + torch.arange(start + 1, stop + 1))
    return size.numpy(), root.numpy()


def _constants(rule: UpdateRule, dtype: np.dtype) -> NDArray[np.floating]:
    """In the type of the weights, so that no product is taken in a wider one. The last two: below them a first, a
    second moment counts as 0; the first one's leaves room for products with what is as small as a rounding error."""
    about = np.finfo(dtype)
    smallest = [float(about.tiny) / float(about.eps), float(about.tiny)]
    rates = [rule.momentum, 1 - rule.momentum, rule.memory, 1 - rule.memory, rule.eps, 1.0]
    return np.array([*rates, *smallest], dtype=dtype)


@inner_kernel
def _kept(value, smallest):
    return value if abs(value) >= smallest else value * 0


@kernel
def _places(crow, col, each, features):
    place = np.empty(col.size, dtype=np.int64)
    for row in range(crow.size - 1):
        base = row // each * features
        for entry in range(crow[row], crow[row + 1]):
            place[entry] = base + col[entry]
    return place


@kernel
def _sums(table, crow, col, val, each, features, out):
    for row in range(crow.size - 1):
        base = row // each * features
        for entry in range(crow[row], crow[row + 1]):
            place, x = base + col[entry], val[entry]
            for h in range(out.shape[1]):
                out[row, h] += x * table[place, h]


@kernel
def _number(place, slot, rows):
    number = 0
    for entry in range(place.size):
        if slot[place[entry]] < 0:
            slot[place[entry]] = number
            rows[number] = place[entry]
            number += 1
    return number


@kernel
def _gather(crow, place, val, grad, slot, out):
    for row in range(crow.size - 1):
        for entry in range(crow[row], crow[row + 1]):
            into, x = slot[place[entry]], val[entry]
            for h in range(out.shape[1]):
                out[into, h] += x * grad[row, h]


@kernel
def _step(kind, w, first, second, gradient, decay, numbers, constants):
    """One step of a row of weights; decay (H,); numbers: size, root, rate of the step."""
    size, root, rate = numbers[0], numbers[1], numbers[2]
    keep, fresh, keep2, fresh2, eps, one, least, least2 = (
        constants[0], constants[1], constants[2], constants[3], constants[4], constants[5], constants[6], constants[7],
    )  # fmt: skip
    if kind == _SGD:
        for h in range(w.size):
            w[h] -= rate * (gradient[h] + decay[h] * w[h])
    elif kind == _MOMENTUM:
        for h in range(w.size):
            first[h] = _kept(keep * first[h] + (gradient[h] + decay[h] * w[h]), least)
            w[h] -= rate * first[h]
    elif kind == _ADAGRAD:
        for h in range(w.size):
            g = gradient[h] + decay[h] * w[h]
            first[h] += g * g
            w[h] -= divide(rate * g, np.sqrt(first[h]) + eps)
    elif kind == _ADADELTA:
        for h in range(w.size):
            g = gradient[h] + decay[h] * w[h]
            first[h] = _kept(keep2 * first[h] + fresh2 * (g * g), least2)
            move = divide(np.sqrt(second[h] + eps), np.sqrt(first[h] + eps)) * g
            second[h] = _kept(keep2 * second[h] + fresh2 * (move * move), least2)
            w[h] -= rate * move
    elif kind == _ADAM:
        for h in range(w.size):
            g = gradient[h] + decay[h] * w[h]
            first[h] = _kept(keep * first[h] + fresh * g, least)
            second[h] = _kept(keep2 * second[h] + fresh2 * (g * g), least2)
            w[h] -= divide(size * first[h], np.sqrt(second[h]) * root + eps)
    else:
        for h in range(w.size):
            g = gradient[h]
            first[h] = _kept(keep * first[h] + fresh * g, least)
            second[h] = _kept(keep2 * second[h] + fresh2 * (g * g), least2)
            w[h] = w[h] * (one - rate * decay[h]) - divide(size * first[h], np.sqrt(second[h]) * root + eps)


@kernel
def _change(kind, value, first, second, last, rows, gradient, scales, decays, constants, features, made):
    decay = np.zeros(value.shape[1], dtype=value.dtype)
    numbers = np.zeros(3, dtype=value.dtype)
    for place in range(rows.size):
        row = rows[place]
        replica = row // features
        for h in range(decay.size):
            decay[h] = decays[replica]
        for item in range(3):
            numbers[item] = scales[replica, made, item]
        _step(kind, value[row], first[row], second[row], gradient[place], decay, numbers, constants)
        last[row] = made + 1


@kernel
def _lengthen(series, scales, decays, powers, made, window):
    """Takes step `made` into the sums Σ c_j d_j^k, k = 0..4, of every step that a row may have been changed at last;
    entry 5 is by how much decay has shrunk such a row (adamw, sgd)."""
    for replica in range(series.shape[0]):
        size, root, rate = scales[replica, made, 0], scales[replica, made, 1], scales[replica, made, 2]
        shrink = 1.0 - rate * decays[replica]
        for since in range(made + 1):
            if shrink != 1.0:
                for k in range(6):
                    series[replica, since, k] *= shrink
            if made - since < window:
                c = size * powers[0, made - since + 1]
                d = root * np.sqrt(powers[1, made - since + 1])
                for k in range(5):
                    series[replica, since, k] += c
                    c *= d


@kernel
def _make_up(kind, value, first, second, last, rows, series, scales, decays, powers, constants, features, made, window):
    root = np.empty(value.shape[1], dtype=value.dtype)
    zero = np.zeros(value.shape[1], dtype=value.dtype)
    decay = np.zeros(value.shape[1], dtype=value.dtype)
    numbers = np.zeros(8, dtype=value.dtype)
    for place in range(rows.size):
        row = rows[place]
        since = last[row]
        missed = made - since
        if missed == 0:
            continue
        last[row] = made
        replica = row // features
        w = value[row]
        if decays[replica] > 0 and (kind in (_SGD, _ADAMW)):
            numbers[0] = series[replica, since, 5]
            for h in range(w.size):
                w[h] *= numbers[0]
        elif decays[replica] > 0:
            for h in range(w.size):
                decay[h] = decays[replica]
            for step in range(since, made):
                for item in range(3):
                    numbers[item] = scales[replica, step, item]
                _step(kind, w, first[row], second[row], zero, decay, numbers, constants)
            continue
        if kind in (_SGD, _ADAGRAD):
            continue
        numbers[0], numbers[1] = powers[0, missed], powers[1, missed]
        if kind == _ADADELTA:
            _shrink(first[row], numbers[1], constants[7])
            _shrink(second[row], numbers[1], constants[7])
            continue
        used = False
        for h in range(w.size):
            if first[row, h] != 0:
                used = True
                break
        if not used:
            continue
        if kind == _MOMENTUM:
            numbers[2] = series[replica, since, 0]
            for h in range(w.size):
                w[h] -= numbers[2] * first[row, h]
            _shrink(first[row], numbers[0], constants[6])
            continue
        for h in range(w.size):
            root[h] = np.sqrt(second[row, h])
        if not _smooth_sum(w, first[row], root, series[replica, since], numbers, constants):
            _long_sum(w, first[row], root, scales[replica], decays[replica], kind, powers, since, made, window,
                      numbers, constants)  # fmt: skip
        _shrink(first[row], numbers[0], constants[6])
        _shrink(second[row], numbers[1], constants[7])


@inner_kernel
def _shrink(moments, factor, smallest):
    for h in range(moments.size):
        moments[h] = _kept(moments[h] * factor, smallest)


@kernel
def _smooth_sum(w, first, root, sums, numbers, constants):
    """The steps missed by moments about the mean; False, and nothing done, where that is not exact enough."""
    total = sums[0]
    if total <= 0:
        return total == 0
    mean = sums[1] / total
    m2, m3, m4 = sums[2] / total, sums[3] / total, sums[4] / total
    c2 = m2 - mean**2
    c3 = m3 - 3 * mean * m2 + 2 * mean**3
    c4 = m4 - 4 * mean * m3 + 6 * mean**2 * m2 - 3 * mean**4
    if c4 > _EXACT * mean**4:
        return False
    numbers[2], numbers[3], numbers[4], numbers[5] = total, total * max(c2, 0.0), total * c3, mean
    c0, a2, a3, d, eps, one = numbers[2], numbers[3], numbers[4], numbers[5], constants[4], constants[5]
    for h in range(w.size):
        y = divide(one, root[h] * d + eps)
        u = root[h] * y
        w[h] -= first[h] * y * (c0 + u * u * (a2 - a3 * u))
    return True


@kernel
def _long_sum(w, first, root, scales, decay, kind, powers, since, made, window, numbers, constants):
    """The steps missed one by one; of adamw the earlier ones are shrunk by the decay of the later ones."""
    eps = constants[4]
    shrink = 1.0
    for step in range(made - 1, since - 1, -1):
        if step - since < window:
            numbers[2] = shrink * scales[step, 0] * powers[0, step - since + 1]
            numbers[3] = scales[step, 1] * np.sqrt(powers[1, step - since + 1])
            c, d = numbers[2], numbers[3]
            for h in range(w.size):
                w[h] -= divide(c * first[h], root[h] * d + eps)
        if kind == _ADAMW:
            shrink *= 1.0 - scales[step, 2] * decay
