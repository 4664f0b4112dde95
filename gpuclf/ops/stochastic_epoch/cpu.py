"""Stochastic gradient descent on the CPU: only the weights of a document's features are touched, one task a replica.

A weight that no document needed for a while owes the penalty of the updates since; it is paid in one go before the
weight is read, and for all weights at the end of the epoch. Between two payments the decay of u = |w| is
u_t = (u_(t-1) - τ_t) d_t with τ = η·lasso, d = 1 / (1 + η·ridge), or, with P_t = d_1 … d_t,
u_t / P_t = u_s / P_s - (Q_t - Q_s), Q_t = Σ_j τ_j / P_(j-1); once it is 0 it stays 0.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.class_loss import KINDS
from gpuclf.ops.class_loss.cpu import document_gradient
from gpuclf.ops.gathered_sum import gathered_sum, scattered_add
from gpuclf.ops.kernel import kernel
from gpuclf.ops.sparse_rows import flat_weights, row_values
from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule
from gpuclf.ops.threads import run_on_threads

_SMALLEST = 1e-100  # of P, before a new segment begins with P = 1


def stochastic_epoch(portion: Portion, rule: StochasticRule, model: StochasticModel) -> Tensor:
    """See `gpuclf.ops.stochastic_epoch`."""
    columns, replicas, classes = model.weights.shape
    docs = portion.labels.numel()
    col_scale = np.ones(columns, np.float32) if portion.col_scale is None else portion.col_scale.numpy()
    row_scale = np.ones(docs, np.float32) if portion.row_scale is None else portion.row_scale.numpy()
    csr = (portion.crow.numpy(), portion.col.numpy(), portion.val.numpy(), portion.labels.numpy())
    rows = (*csr, col_scale, row_scale, portion.order.contiguous().numpy(), portion.batch)
    costs = np.ones((classes, classes)) if rule.cost is None else rule.cost.contiguous().numpy()
    costs = np.zeros((classes, classes)) if rule.kind == "perceptron" else costs
    weights, stride = flat_weights(model.weights)
    squares, far = (weights[:0], 0) if model.squares is None else flat_weights(model.squares)
    loss = np.zeros(replicas)
    ridge, lasso = rule.ridge.tolist(), rule.lasso.tolist()
    pieces = []
    for r in range(replicas):
        rates = rule.rates[:, r].contiguous().numpy()
        where = (weights[r * classes :], stride, squares[r * classes :], far, classes)
        about = (KINDS[rule.kind], costs, rule.offset, portion.weights[:, r].contiguous().numpy())
        pieces.append(
            partial(_walk, *rows, *about, rates, ridge[r], lasso[r], rule.adaptive, *where, columns, loss[r : r + 1])
        )
    run_on_threads(pieces)
    return torch.from_numpy(loss)


@kernel
def _walk(
    crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any, batch: Any,
    kind: Any, costs: Any, offset: Any, counts: Any, rates: Any, ridge: Any, lasso: Any, adaptive: Any,
    weights: Any, stride: Any, squares: Any, far: Any, classes: Any, columns: Any, loss: Any,
) -> None:  # fmt: skip
    longest = 0
    for n in order:
        longest = max(longest, crow[n + 1] - crow[n])
    dtype = weights.dtype.type
    index = np.empty(longest + 1, np.int64)
    x = np.empty(longest + 1, weights.dtype)
    scores = np.empty(classes, weights.dtype)
    wide = np.empty(classes)
    by_score = np.empty((batch, classes))
    step = np.empty(classes, weights.dtype)
    scratch = np.empty(classes)
    product, owed, end = _penalty_tables(rates, ridge, lasso)
    paid = np.zeros(columns, np.int64)  # updates whose penalty a feature's weights have paid
    slot = np.full(columns if adaptive else 0, -1, np.int64)
    sums = np.empty(((longest + 1) * batch if adaptive else 0, classes))
    t = 0
    for begin in range(0, order.size, batch):
        size = min(batch, order.size - begin)
        for b in range(size):
            n = order[begin + b]
            count, _ = row_values(crow, col, val, n, col_scale, row_scale, index, x)
            x[0] = 1 if offset else 0
            for i in range(1, count):
                v = index[i]
                if paid[v] < t:
                    _pay(weights, v * stride, squares, v * far, classes, paid[v], t, rates,
                         ridge, lasso, adaptive, product, owed, end)  # fmt: skip
                    paid[v] = t
            gathered_sum(weights, index, stride, x, count, 0, scores)
            for k in range(classes):
                wide[k] = scores[k]
            loss[0] += document_gradient(kind, wide, labels[n], counts[n], costs, scratch, by_score[b])
        if adaptive:
            _adaptive_update(
                crow, col, val, col_scale, row_scale, order[begin : begin + size], offset, by_score, rates[t],
                weights, stride, squares, far, index, x, slot, sums,
            )  # fmt: skip
        else:
            for b in range(size):
                if size > 1:
                    n = order[begin + b]
                    count, _ = row_values(crow, col, val, n, col_scale, row_scale, index, x)
                    x[0] = 1 if offset else 0
                for k in range(classes):
                    step[k] = dtype(-rates[t] / size * by_score[b, k])
                scattered_add(weights, index, stride, x, count, step)
        t += 1
    for v in range(1, columns):
        if paid[v] < t:
            _pay(weights, v * stride, squares, v * far, classes, paid[v], t, rates,
                 ridge, lasso, adaptive, product, owed, end)  # fmt: skip


@kernel
def _penalty_tables(rates: Any, ridge: Any, lasso: Any) -> tuple[Any, Any, Any]:
    """P and Q after t updates since the beginning of t's segment, and the last update of the segment that t is in."""
    product = np.ones(rates.size + 1)
    owed = np.zeros(rates.size + 1)
    end = np.full(rates.size + 1, rates.size)
    first = 0
    p = 1.0
    q = 0.0
    for t in range(rates.size):
        if p < _SMALLEST:
            end[first:t] = t
            first = t
            p, q = 1.0, 0.0
        q += rates[t] * lasso / p
        p /= 1.0 + rates[t] * ridge
        product[t + 1], owed[t + 1] = p, q
    return product, owed, end


@kernel
def _pay(
    weights: Any, at: Any, squares: Any, also: Any, classes: Any, since: Any, until: Any, rates: Any,
    ridge: Any, lasso: Any, adaptive: Any, product: Any, owed: Any, end: Any,
) -> None:  # fmt: skip
    """The penalty of the updates since + 1 … until on one feature's weights."""
    if ridge == 0 and lasso == 0:
        return
    dtype = weights.dtype.type
    if adaptive:  # the rate of a weight stands still between its gradients
        times = until - since
        for k in range(classes):
            w = np.float64(weights[at + k])
            if w != 0:
                rate = rates[0] / (np.sqrt(np.float64(squares[also + k])) + 1e-10)
                decay = times * np.log1p(rate * ridge)
                cut = times * rate * lasso if ridge == 0 else -np.expm1(-decay) / ridge * lasso
                weights[at + k] = dtype(np.sign(w) * max(0.0, abs(w) * np.exp(-decay) - cut))
        return
    while since < until:
        stop = min(until, end[since])
        fresh = since > 0 and end[since - 1] == since  # `since` closes the segment before it
        p, q = (1.0, 0.0) if fresh else (product[since], owed[since])
        factor = product[stop] / p
        cut = (owed[stop] - q) * product[stop]
        for k in range(classes):
            w = np.float64(weights[at + k])
            weights[at + k] = dtype(np.sign(w) * max(0.0, abs(w) * factor - cut))
        since = stop


@kernel
def _adaptive_update(
    crow: Any, col: Any, val: Any, col_scale: Any, row_scale: Any, docs: Any, offset: Any, by_score: Any, rate: Any,
    weights: Any, stride: Any, squares: Any, far: Any, index: Any, x: Any, slot: Any, sums: Any,
) -> None:  # fmt: skip
    """AdaGrad's update by the mean gradient of some documents, gathered by feature first."""
    dtype = weights.dtype.type
    classes = by_score.shape[1]
    touched = np.empty(sums.shape[0], np.int64)
    number = 0
    for b in range(docs.size):
        count, _ = row_values(crow, col, val, docs[b], col_scale, row_scale, index, x)
        x[0] = 1 if offset else 0
        for i in range(count):
            v = index[i]
            if slot[v] < 0:
                slot[v] = number
                touched[number] = v
                sums[number] = 0.0
                number += 1
            for k in range(classes):
                sums[slot[v], k] += np.float64(x[i]) * by_score[b, k]
    for i in range(number):
        v = touched[i]
        slot[v] = -1
        for k in range(classes):
            g = sums[i, k] / docs.size
            square = squares[v * far + k] + dtype(g * g)
            squares[v * far + k] = square
            own = rate / (np.sqrt(np.float64(square)) + 1e-10)
            weights[v * stride + k] = dtype(np.float64(weights[v * stride + k]) - own * g)
