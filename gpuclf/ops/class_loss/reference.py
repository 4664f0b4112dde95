"""The losses in plain torch, on any device, as the equations stand."""

from __future__ import annotations

import torch
from torch import Tensor


def class_loss(
    kind: str, scores: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None
) -> tuple[Tensor, Tensor]:
    """See `gpuclf.ops.class_loss`."""
    loss, gradient = _each(kind, scores.double(), labels, cost)
    used = weights > 0
    value = torch.where(used, weights * loss, 0.0).sum(0)
    gradient = torch.where(used[..., None], weights[..., None] * gradient, 0.0)
    return value, gradient.to(scores.dtype)


def loss_along(
    kind: str,
    scores: Tensor,
    direction: Tensor,
    step: Tensor,
    labels: Tensor,
    weights: Tensor,
    cost: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """See `gpuclf.ops.class_loss`."""
    there = scores.double() + step.double()[:, None] * direction.double()
    value, gradient = class_loss(kind, there, labels, weights, cost)
    return value, (gradient * direction.double()).sum((0, 2))


def loss_curvature(
    kind: str, scores: Tensor, direction: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None
) -> Tensor:
    """See `gpuclf.ops.class_loss`."""
    s, d = scores.double(), direction.double()
    if kind == "logistic":
        p = torch.softmax(s, dim=-1)
        product = p * (d - (p * d).sum(-1, keepdim=True))
    else:
        violations, own = _violations(s, labels, cost)
        gold = (own * d).sum(-1, keepdim=True)
        pull = torch.where(violations > 0, 2.0 * (d - gold), 0.0)
        product = pull - own * pull.sum(-1, keepdim=True)
    return torch.where(weights[..., None] > 0, weights[..., None] * product, 0.0).to(scores.dtype)


def loss_diagonal(kind: str, scores: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None) -> Tensor:
    """See `gpuclf.ops.class_loss`."""
    s = scores.double()
    if kind == "logistic":
        p = torch.softmax(s, dim=-1)
        each = p * (1 - p)
    else:
        violations, own = _violations(s, labels, cost)
        active = 2.0 * (violations > 0).to(s.dtype)
        each = active + own * active.sum(-1, keepdim=True)
    return torch.where(weights[..., None] > 0, weights[..., None] * each, 0.0).to(scores.dtype)


def _each(kind: str, s: Tensor, labels: Tensor, cost: Tensor | None) -> tuple[Tensor, Tensor]:
    """Losses (docs, R) and gradients (docs, R, K) of single documents, in float64."""
    gold = labels.clamp(min=0)[:, None, None].expand(*s.shape[:2], 1)
    if kind == "logistic":
        own = torch.zeros_like(s).scatter_(2, gold, 1.0)
        return torch.logsumexp(s, dim=-1) - s.gather(2, gold)[..., 0], torch.softmax(s, dim=-1) - own
    if kind == "squared_margin":
        violations, own = _violations(s, labels, cost)
        return violations.square().sum(-1), 2.0 * (violations - own * violations.sum(-1, keepdim=True))
    no_cost = torch.zeros(s.shape[2], s.shape[2], dtype=s.dtype, device=s.device)
    violation, pull = _rival(s, labels, no_cost if kind == "perceptron" else cost)
    active = (violation > 0)[..., None]
    return violation, torch.where(active, pull, 0.0)


def _rival(s: Tensor, labels: Tensor, cost: Tensor | None) -> tuple[Tensor, Tensor]:
    """Violations (docs, R), 0 with a single class, and pulls (docs, R, K): 1 for the rival, -1 for the gold class."""
    classes = s.shape[2]
    gold = labels.clamp(min=0)
    if classes < 2:
        return s.new_zeros(s.shape[:2]), torch.zeros_like(s)
    own = torch.nn.functional.one_hot(gold, classes)[:, None].to(s.dtype)
    charged = s + (1.0 if cost is None else cost[gold][:, None])
    charged = charged.masked_fill(own > 0, -torch.inf)
    rival = charged.argmax(dim=-1, keepdim=True)
    height = charged.gather(2, rival)[..., 0]
    at = gold[:, None, None].expand(*s.shape[:2], 1)
    violation = (height - s.gather(2, at)[..., 0]).clamp(min=0)
    return violation, torch.zeros_like(s).scatter_(2, rival, 1.0) - own


def _violations(s: Tensor, labels: Tensor, cost: Tensor | None) -> tuple[Tensor, Tensor]:
    """max(0, s_k + c[y, k] - s_y) (docs, R, K), 0 for the gold class, and 1 at the gold class, else 0."""
    gold = labels.clamp(min=0)
    own = torch.nn.functional.one_hot(gold, s.shape[2])[:, None].to(s.dtype).expand(s.shape)
    charged = s + (1.0 if cost is None else cost[gold][:, None])
    behind = charged - (own * s).sum(-1, keepdim=True)
    return behind.clamp(min=0) * (1 - own), own
