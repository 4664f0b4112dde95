"""Dual coordinate descent in plain torch: one document at a time, all replicas of a stream at once; any device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.dual_epoch import DualModel, DualRows

_ROUNDS = 60  # of safeguarded Newton steps for the multiplier of a logistic document; some five are the rule


def dual_epoch(
    kind: str,
    rows: DualRows,
    order: Tensor,
    view: int,
    bounds: Tensor,
    cost: Tensor | None,
    offset: bool,
    model: DualModel,
) -> None:
    """See `gpuclf.ops.dual_epoch`."""
    classes = model.weights.shape[2]
    device = model.weights.device
    costs = torch.ones(classes, classes, dtype=torch.float64, device=device) if cost is None else cost.clone()
    costs.fill_diagonal_(0.0)
    for n in order.tolist():
        columns, x = _row(rows, view, n, offset)
        y = int(rows.labels[n])
        bound = bounds[n]
        square = x.square().sum()
        scores = torch.einsum("i,irk->rk", x, model.weights[columns].double())
        old = model.duals[n].double()
        if square <= 0:
            new = empty_duals(kind, costs[y], y, old, bound)
            change = torch.zeros_like(old)
        elif kind == "margin":
            new = margin_duals(scores + costs[y] - square * old, y, square, bound)
            change = new - old
        else:
            new = logistic_duals(scores + square * old, square, bound, old)
            change = old - new
        new = torch.where((bound > 0)[:, None], new, old)
        change = torch.where((bound > 0)[:, None], change, 0.0)
        model.duals[n] = new.to(model.duals.dtype)
        model.weights[columns] += (x[:, None, None] * change).to(model.weights.dtype)


def empty_duals(kind: str, costs: Tensor, y: int, like: Tensor, bound: Tensor) -> Tensor:
    """Duals (R, K) of a document without features and offset: all its scores are 0 whatever they are."""
    if kind == "logistic":
        return (bound / like.shape[1])[:, None].expand(like.shape)
    new = torch.zeros_like(like)
    worst = int(costs.argmax())
    if float(costs[worst]) > 0:
        new[:, worst], new[:, y] = -bound, bound
    return new


def margin_duals(linear: Tensor, y: int, square: Tensor, bound: Tensor) -> Tensor:
    """a (R, K) minimising square/2 · |a|² + linear · a with Σ a = 0, a_y ≤ bound, a_k ≤ 0, by sorting."""
    d = linear.clone()
    d[:, y] += square * bound
    high, _ = d.sort(dim=1, descending=True)
    number = torch.arange(1, d.shape[1] + 1, device=d.device)
    level = (high.cumsum(1) - (square * bound)[:, None]) / number
    last = (high > level).sum(1, keepdim=True).clamp(min=1)
    beta = level.gather(1, last - 1)
    a = torch.minimum((beta - linear) / square, torch.zeros_like(linear))
    a[:, y] = torch.minimum((beta[:, 0] - linear[:, y]) / square, bound)
    return a


def logistic_duals(linear: Tensor, square: Tensor, bound: Tensor, old: Tensor) -> Tensor:
    """p (R, K) with log p_k + square · p_k = linear_k - b, and b such that Σ p = bound: bisection on b."""
    low = linear.min(1).values - torch.log(bound.clamp(min=1e-300)) - square * bound - 50.0
    high = linear.max(1).values + torch.log(torch.tensor(float(linear.shape[1]))) - torch.log(bound.clamp(min=1e-300))
    for _ in range(200):
        middle = 0.5 * (low + high)
        too_much = _omega(linear - middle[:, None], square).sum(1) > bound
        low, high = torch.where(too_much, middle, low), torch.where(too_much, high, middle)
    p = _omega(linear - (0.5 * (low + high))[:, None], square)
    return p * (bound / p.sum(1))[:, None]


def _omega(z: Tensor, square: Tensor) -> Tensor:
    """p with log p + square · p = z, by Newton's method on log p, which is convex increasing in it."""
    u = torch.minimum(z, torch.where(z > 1, torch.log((z / square).clamp(min=1e-300)), z))
    for _ in range(_ROUNDS):
        p = u.exp()
        u = u - (u + square * p - z) / (1 + square * p)
    return u.exp()


def _row(rows: DualRows, view: int, n: int, offset: bool) -> tuple[Tensor, Tensor]:
    inside = slice(int(rows.crow[n]), int(rows.crow[n + 1]))
    columns, x = rows.col[inside].long(), rows.val[inside].double()
    if rows.col_scale is not None:
        x = x * rows.col_scale[view, columns].double()
    if rows.row_scale is not None:
        x = x * rows.row_scale[view, n].double()
    if offset:
        columns, x = torch.cat([columns.new_zeros(1), columns]), torch.cat([x.new_ones(1), x])
    return columns, x
