"""Update rules, and a table that they change, in plain torch: every step changes every row."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.table_epoch.records import Steps, UpdateRule, Weights


def update(weights: Weights, gradient: Tensor, rule: UpdateRule, rate: Tensor, decay: Tensor, time: Tensor) -> None:
    """One step of all weights, in place.

    gradient like the weights; rate, decay, time (the number of this step, from 1) are to be broadcast against them.
    Decay λ adds λw to the gradient, but for adamw, which shrinks the weights themselves (Loshchilov & Hutter 2019).
    momentum: Polyak 1964; adagrad: Duchi, Hazan & Singer 2011; adadelta: Zeiler 2012; adam: Kingma & Ba 2015, alg. 1.
    """
    w, first, second, kind = weights.value, weights.first, weights.second, rule.kind
    if kind == "adamw":
        w.mul_(1 - rate * decay)
    else:
        gradient = gradient + decay * w
    if kind == "sgd":
        w.sub_(rate * gradient)
        return
    assert first is not None
    if kind == "momentum":
        first.mul_(rule.momentum).add_(gradient)
        w.sub_(rate * first)
        return
    if kind == "adagrad":
        first.add_(gradient.square())
        w.sub_(rate * gradient / (first.sqrt() + rule.eps))
        return
    assert second is not None
    if kind == "adadelta":
        first.mul_(rule.memory).add_((1 - rule.memory) * gradient.square())
        move = (second + rule.eps).sqrt() / (first + rule.eps).sqrt() * gradient
        second.mul_(rule.memory).add_((1 - rule.memory) * move.square())
        w.sub_(rate * move)
        return
    first.mul_(rule.momentum).add_((1 - rule.momentum) * gradient)
    second.mul_(rule.memory).add_((1 - rule.memory) * gradient.square())
    size, root = adam_scales(rule, rate.to(torch.float64), time)
    w.sub_(size.to(w.dtype) * first / (second.sqrt() * root.to(w.dtype) + rule.eps))


def adam_scales(rule: UpdateRule, rate: Tensor, time: Tensor) -> tuple[Tensor, Tensor]:
    """(rate / (1 - β1^t), 1 / √(1 - β2^t)): the corrections for moments that begin at 0; float64."""
    time = time.to(torch.float64)
    return rate / (1 - rule.momentum**time), (1 - rule.memory**time).rsqrt()


def update_all(weights: Weights, gradient: Tensor, rule: UpdateRule, steps: Steps, step: int, decayed: Tensor) -> None:
    """Step `step` (from 0) of an epoch for weights (R, P), in place; decayed (P,): 1 where decay applies, else 0."""
    rate = steps.rates[step].to(weights.value.dtype)[:, None]
    decay = steps.decay.to(weights.value.dtype)[:, None] * decayed
    update(weights, gradient, rule, rate, decay, (steps.before + step + 1)[:, None])


def bag_sums(table: Tensor, crow: Tensor, col: Tensor, val: Tensor) -> Tensor:
    """See gpuclf.ops.table_epoch.bag_sums."""
    replicas, features, width = table.shape
    rows = crow.numel() - 1
    row = torch.repeat_interleave(crow.diff())
    place = col + row // max(1, rows // replicas) * features
    out = torch.zeros(rows, width, dtype=table.dtype, device=table.device)
    # index_put_ adds up in one order on every device, index_add_ does not
    return out.index_put_((row,), table.view(-1, width)[place] * val[:, None], accumulate=True)


class TableEpoch:
    """See gpuclf.ops.table_epoch.records.TableEpoch."""

    def __init__(self, table: Weights, rule: UpdateRule, steps: Steps):
        self._table, self._rule, self._steps, self._made = table, rule, steps, 0

    def sums(self, crow: Tensor, col: Tensor, val: Tensor) -> Tensor:
        return bag_sums(self._table.value, crow, col, val)

    def gradients(self, crow: Tensor, col: Tensor, val: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
        replicas, features, width = self._table.value.shape
        row = torch.repeat_interleave(crow.diff())
        each = max(1, (crow.numel() - 1) // replicas)
        rows, place = torch.unique(col + row // each * features, return_inverse=True)
        out = torch.zeros(rows.numel(), width, dtype=grad.dtype, device=grad.device)
        return rows, out.index_put_((place,), grad[row] * val[:, None], accumulate=True)

    def update(self, rows: Tensor, gradient: Tensor) -> None:
        table = self._table.value
        whole = torch.zeros_like(table).view(-1, table.shape[2]).index_copy_(0, rows, gradient).view_as(table)
        rate = self._steps.rates[self._made].to(table.dtype)[:, None, None]
        decay = self._steps.decay.to(table.dtype)[:, None, None]
        self._made += 1
        time = (self._steps.before + self._made)[:, None, None]
        update(self._table, whole, self._rule, rate, decay, time)

    def settle(self) -> None:
        """Nothing is left open."""
