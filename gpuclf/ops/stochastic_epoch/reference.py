"""Stochastic gradient descent in plain torch, with the penalty applied to every weight after every update."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.class_loss import class_loss
from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule


def stochastic_epoch(portion: Portion, rule: StochasticRule, model: StochasticModel) -> Tensor:
    """See `gpuclf.ops.stochastic_epoch`."""
    weights = model.weights
    total = torch.zeros(weights.shape[1], dtype=torch.float64, device=weights.device)
    for t, docs in enumerate(portion.order.split(portion.batch)):
        dense = _dense(portion, docs, rule.offset, weights)
        scores = torch.einsum("nv,vrk->nrk", dense, weights.double()).contiguous()
        loss, by_score = class_loss(rule.kind, scores, portion.labels[docs], portion.weights[docs], rule.cost)
        if rule.kind == "perceptron":
            by_score = _of_predictions(scores, portion.labels[docs], portion.weights[docs])
        total += loss
        gradient = torch.einsum("nv,nrk->vrk", dense, by_score) / docs.numel()
        rate = rule.rates[t][:, None].expand(weights.shape)
        if model.squares is not None:
            model.squares.add_(gradient.square().to(model.squares.dtype))
            rate = rate / (model.squares.double().sqrt() + 1e-10)
        moved = weights.double() - rate * gradient
        shrunk = (
            moved.sign() * (moved.abs() - rate * rule.lasso[:, None]).clamp(min=0) / (1 + rate * rule.ridge[:, None])
        )
        shrunk[0] = moved[0]
        weights.copy_(shrunk)
        if model.sums is not None:
            model.sums.add_(weights.double(), alpha=docs.numel())
    return total


def _of_predictions(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """The perceptron loss's gradient: e_ŷ - e_y, ŷ the first of the highest classes, also where it ties with y.

    There 0 would be a gradient as well, but with weights of 0, where everything ties, no document could ever teach.
    """
    classes = scores.shape[2]
    predicted = torch.nn.functional.one_hot(scores.argmax(2), classes)
    gold = torch.nn.functional.one_hot(labels, classes)[:, None]
    return weights[..., None] * (predicted - gold)


def _dense(portion: Portion, docs: Tensor, offset: bool, weights: Tensor) -> Tensor:
    """The documents as dense rows (n, V+1) float64."""
    dense = torch.zeros((docs.numel(), weights.shape[0]), dtype=torch.float64, device=weights.device)
    for i, n in enumerate(docs.tolist()):
        inside = slice(int(portion.crow[n]), int(portion.crow[n + 1]))
        columns, x = portion.col[inside].long(), portion.val[inside].double()
        if portion.col_scale is not None:
            x = x * portion.col_scale[columns].double()
        if portion.row_scale is not None:
            x = x * portion.row_scale[n].double()
        dense[i, columns] = x
    dense[:, 0] = float(offset)
    return dense
