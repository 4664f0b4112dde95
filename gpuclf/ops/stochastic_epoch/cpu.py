"""Stochastic gradient descent on the CPU: only the weights of a document's features are touched, one task a replica.

A weight that no document needed for a while owes the penalty of the updates since; it is paid before the weight is
read (gpuclf.ops.stochastic_epoch.cpu_penalty), and for all weights at the end of the epoch.
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
from gpuclf.ops.stochastic_epoch.cpu_penalty import SMALLEST, SMALLEST_OF_SUMS, pay, penalty_tables
from gpuclf.ops.threads import run_on_threads


def stochastic_epoch(portion: Portion, rule: StochasticRule, model: StochasticModel) -> Tensor:
    """See `gpuclf.ops.stochastic_epoch`."""
    columns, replicas, classes = model.weights.shape
    docs = portion.labels.numel()
    col_scale = np.ones(columns, np.float32) if portion.col_scale is None else portion.col_scale.numpy()
    row_scale = np.ones(docs, np.float32) if portion.row_scale is None else portion.row_scale.numpy()
    csr = (portion.crow.numpy(), portion.col.numpy(), portion.val.numpy(), portion.labels.numpy())
    sizes = portion.sizes().numpy()
    rows = (*csr, col_scale, row_scale, portion.order.contiguous().numpy(), sizes)
    costs = np.ones((classes, classes)) if rule.cost is None else rule.cost.contiguous().numpy()
    costs = np.zeros((classes, classes)) if rule.kind == "perceptron" else costs
    weights, stride = flat_weights(model.weights)
    squares, far = (weights[:0], 0) if model.squares is None else flat_weights(model.squares)
    sums, wide = (np.empty(0), 0) if model.sums is None else flat_weights(model.sums)
    smallest = SMALLEST if model.sums is None else SMALLEST_OF_SUMS
    loss = np.zeros(replicas)
    ridge, lasso = rule.ridge.tolist(), rule.lasso.tolist()
    pieces = []
    for r in range(replicas):
        rates = rule.rates[:, r].contiguous().numpy()
        where = (weights[r * classes :], stride, squares[r * classes :], far, sums[r * classes :], wide, classes)
        about = (KINDS[rule.kind], costs, rule.offset, portion.weights[:, r].contiguous().numpy())
        penalty = (rates, ridge[r], lasso[r], rule.adaptive, smallest)
        pieces.append(partial(_walk, *rows, *about, *penalty, *where, columns, loss[r : r + 1]))
    run_on_threads(pieces)
    return torch.from_numpy(loss)


@kernel
def _walk(
    crow: Any, col: Any, val: Any, labels: Any, col_scale: Any, row_scale: Any, order: Any, sizes: Any,
    kind: Any, costs: Any, offset: Any, counts: Any, rates: Any, ridge: Any, lasso: Any, adaptive: Any, smallest: Any,
    weights: Any, stride: Any, squares: Any, far: Any, sums: Any, wide: Any, classes: Any, columns: Any, loss: Any,
) -> None:  # fmt: skip
    longest = 0
    for n in order:
        longest = max(longest, crow[n + 1] - crow[n])
    dtype = weights.dtype.type
    batch = sizes[0] if sizes.size else 0
    index = np.empty(longest + 1, np.int64)
    x = np.empty(longest + 1, weights.dtype)
    scores = np.empty(classes, weights.dtype)
    by_class = np.empty(classes)
    by_score = np.empty((batch, classes))
    step = np.empty(classes, weights.dtype)
    scratch = np.empty(classes)
    tables = penalty_tables(rates, ridge, lasso, sizes, smallest)
    paid = np.zeros(columns, np.int64)  # updates whose penalty a feature's weights have paid
    slot = np.full(columns if adaptive else 0, -1, np.int64)
    gathered = np.empty(((longest + 1) * batch if adaptive else 0, classes))
    begin = 0
    for t in range(sizes.size):
        size = sizes[t]
        for b in range(size):
            n = order[begin + b]
            count, _ = row_values(crow, col, val, n, col_scale, row_scale, index, x)
            x[0] = 1 if offset else 0
            for i in range(1, count):
                v = index[i]
                if paid[v] < t:
                    pay(weights, v * stride, squares, v * far, sums, v * wide, classes, paid[v], t, rates,
                        ridge, lasso, adaptive, sizes, tables)  # fmt: skip
                    paid[v] = t
            gathered_sum(weights, index, stride, x, count, 0, scores)
            for k in range(classes):
                by_class[k] = scores[k]
            paid_for = document_gradient(kind, by_class, labels[n], counts[n], costs, scratch, by_score[b])
            loss[0] += paid_for
            if kind == 3 and paid_for == 0 and counts[n] > 0:
                best = np.argmax(by_class)
                if best != labels[n]:
                    by_score[b, best], by_score[b, labels[n]] = counts[n], -counts[n]
        if adaptive:
            _adaptive_update(
                crow, col, val, col_scale, row_scale, order[begin : begin + size], offset, by_score, rates[t],
                weights, stride, squares, far, index, x, slot, gathered,
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
        if sums.size:
            for k in range(classes):  # the offset has no penalty, and every document has it
                sums[k] += size * np.float64(weights[k])
        begin += size
    for v in range(1, columns):
        if paid[v] < sizes.size:
            pay(weights, v * stride, squares, v * far, sums, v * wide, classes, paid[v], sizes.size, rates,
                ridge, lasso, adaptive, sizes, tables)  # fmt: skip


@kernel
def _adaptive_update(
    crow: Any, col: Any, val: Any, col_scale: Any, row_scale: Any, docs: Any, offset: Any, by_score: Any, rate: Any,
    weights: Any, stride: Any, squares: Any, far: Any, index: Any, x: Any, slot: Any, gathered: Any,
) -> None:  # fmt: skip
    """AdaGrad's update by the mean gradient of some documents, gathered by feature first."""
    dtype = weights.dtype.type
    classes = by_score.shape[1]
    touched = np.empty(gathered.shape[0], np.int64)
    number = 0
    for b in range(docs.size):
        count, _ = row_values(crow, col, val, docs[b], col_scale, row_scale, index, x)
        x[0] = 1 if offset else 0
        for i in range(count):
            v = index[i]
            if slot[v] < 0:
                slot[v] = number
                touched[number] = v
                gathered[number] = 0.0
                number += 1
            for k in range(classes):
                gathered[slot[v], k] += np.float64(x[i]) * by_score[b, k]
    for i in range(number):
        v = touched[i]
        slot[v] = -1
        for k in range(classes):
            g = gathered[i, k] / docs.size
            square = squares[v * far + k] + dtype(g * g)
            squares[v * far + k] = square
            own = rate / (np.sqrt(np.float64(square)) + 1e-10)
            weights[v * stride + k] = dtype(np.float64(weights[v * stride + k]) - own * g)
