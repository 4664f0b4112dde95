"""The losses on the CPU: one pass over the documents, blocks of them on the threads, sums in document order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.class_loss import KINDS
from gpuclf.ops.exponentials import exponentials
from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_CELLS = 1 << 15  # scores in one piece of work


def class_loss(
    kind: str, scores: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None
) -> tuple[Tensor, Tensor]:
    """See `gpuclf.ops.class_loss`."""
    gradient = torch.empty_like(scores)
    loss = np.empty(weights.shape)
    shared = (KINDS[kind], scores.numpy(), labels.numpy(), weights.numpy(), _costs(cost, kind, scores))
    _run(scores, lambda a, b: partial(_gradients, *shared, a, b, loss, gradient.numpy()))
    return torch.from_numpy(_sums(loss)), gradient


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
    loss, slope = np.empty(weights.shape), np.empty(weights.shape)
    costs = _costs(cost, kind, scores)
    shared = (KINDS[kind], scores.numpy(), direction.numpy(), step.numpy(), labels.numpy(), weights.numpy(), costs)
    _run(scores, lambda a, b: partial(_along, *shared, a, b, loss, slope))
    return torch.from_numpy(_sums(loss)), torch.from_numpy(_sums(slope))


def loss_curvature(
    kind: str, scores: Tensor, direction: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None
) -> Tensor:
    """See `gpuclf.ops.class_loss`."""
    out = torch.empty_like(scores)
    costs = _costs(cost, kind, scores)
    shared = (KINDS[kind], scores.numpy(), direction.numpy(), labels.numpy(), weights.numpy(), costs, out.numpy())
    _run(scores, lambda a, b: partial(_curvature, *shared, a, b))
    return out


def loss_diagonal(kind: str, scores: Tensor, labels: Tensor, weights: Tensor, cost: Tensor | None) -> Tensor:
    """See `gpuclf.ops.class_loss`."""
    out = torch.empty_like(scores)
    shared = (KINDS[kind], scores.numpy(), labels.numpy(), weights.numpy(), _costs(cost, kind, scores), out.numpy())
    _run(scores, lambda a, b: partial(_diagonal, *shared, a, b))
    return out


def _run(scores: Tensor, piece: Any) -> None:
    docs = scores.shape[0]
    size = max(1, _CELLS // max(1, scores[0].numel())) if docs else 1
    run_on_threads([piece(start, min(docs, start + size)) for start in range(0, docs, size)])


def _costs(cost: Tensor | None, kind: str, scores: Tensor) -> Any:
    classes = scores.shape[2]
    if kind == "perceptron":
        return np.zeros((classes, classes))
    return np.ones((classes, classes)) if cost is None else cost.contiguous().numpy()


@kernel
def _sums(parts: Any) -> Any:
    """Column sums (R,) in the order of the rows."""
    total = np.zeros(parts.shape[1])
    for n in range(parts.shape[0]):
        for r in range(parts.shape[1]):
            total[r] += parts[n, r]
    return total


@kernel
def _probabilities(s: Any, p: Any) -> Any:
    """Softmax of s into p; returns log Σ exp s. Finite for any finite scores."""
    top = s[0]
    for k in range(1, s.size):
        top = max(top, s[k])
    total = 0.0
    for k in range(s.size):
        p[k] = np.exp(s[k] - top)
        total += p[k]
    for k in range(s.size):
        p[k] /= total
    return top + np.log(total)


@kernel
def _quick_probabilities(s: Any, p: Any, spare: Any) -> Any:
    """The same by vector instructions; spare (K,) is scratch, and so is s afterwards."""
    top = s[0]
    for k in range(1, s.size):
        top = max(top, s[k])
    for k in range(s.size):
        spare[k] = s[k] - top
    exponentials(spare, p, s)
    total = 0.0
    for k in range(s.size):
        total += p[k]
    share = 1.0 / total
    for k in range(s.size):
        p[k] *= share
    return top + np.log(total)


@kernel
def _rival(s: Any, y: Any, cost: Any) -> tuple[Any, Any]:
    """The rival of class y, -1 with a single class, and its violation."""
    best = -1
    height = -np.inf
    for k in range(s.size):
        if k != y:
            charged = s[k] + cost[y, k]
            if best < 0 or charged > height:
                best, height = k, charged
    return best, (max(0.0, height - s[y]) if best >= 0 else 0.0)


@kernel
def document_gradient(kind: Any, s: Any, y: Any, weight: Any, cost: Any, p: Any, gradient: Any) -> Any:
    """Weighted loss of one document with scores s (K,) float64; its gradient (K,) is written. p (K,) is scratch."""
    gradient[:] = 0
    if weight <= 0:
        return 0.0
    if kind == 0:
        loss = weight * (_probabilities(s, p) - s[y])
        others = 0.0
        for k in range(s.size):
            gradient[k] = weight * p[k]
            others += p[k] if k != y else 0.0
        gradient[y] = -weight * others  # p - 1 without cancellation
        return loss
    if kind == 2:
        loss = 0.0
        for k in range(s.size):
            violation = s[k] + cost[y, k] - s[y]
            if k != y and violation > 0:
                loss += weight * violation * violation
                gradient[k] = 2.0 * weight * violation
                gradient[y] -= 2.0 * weight * violation
        return loss
    rival, violation = _rival(s, y, cost)
    if violation <= 0:
        return 0.0
    gradient[rival] = weight
    gradient[y] = -weight
    return weight * violation


@kernel
def _gradients(
    kind: Any, scores: Any, labels: Any, weights: Any, cost: Any, first: Any, last: Any, loss: Any, gradient: Any
) -> None:
    s = np.empty(scores.shape[2])
    p = np.empty(scores.shape[2])
    for n in range(first, last):
        for r in range(scores.shape[1]):
            for k in range(s.size):
                s[k] = scores[n, r, k]
            loss[n, r] = document_gradient(kind, s, labels[n], weights[n, r], cost, p, gradient[n, r])


@kernel
def _along(
    kind: Any, scores: Any, direction: Any, step: Any, labels: Any, weights: Any, cost: Any,
    first: Any, last: Any, loss: Any, slope: Any,
) -> None:  # fmt: skip
    classes = scores.shape[2]
    s = np.empty(classes)
    p = np.empty(classes)
    spare = np.empty(classes)
    for n in range(first, last):
        y = labels[n]
        for r in range(scores.shape[1]):
            weight = weights[n, r]
            loss[n, r] = 0.0
            slope[n, r] = 0.0
            if weight <= 0:
                continue
            for k in range(classes):
                s[k] = np.float64(scores[n, r, k]) + step[r] * np.float64(direction[n, r, k])
            if kind == 0:
                own_score = s[y]
                loss[n, r] = weight * (_quick_probabilities(s, p, spare) - own_score)
                change = 0.0
                own = np.float64(direction[n, r, y])
                for k in range(classes):
                    change += p[k] * (np.float64(direction[n, r, k]) - own)
                slope[n, r] = weight * change
                continue
            if kind == 2:
                own = np.float64(direction[n, r, y])
                for k in range(classes):
                    violation = s[k] + cost[y, k] - s[y]
                    if k != y and violation > 0:
                        loss[n, r] += weight * violation * violation
                        slope[n, r] += 2.0 * weight * violation * (np.float64(direction[n, r, k]) - own)
                continue
            rival, violation = _rival(s, y, cost)
            if violation > 0:
                loss[n, r] = weight * violation
                slope[n, r] = weight * (np.float64(direction[n, r, rival]) - np.float64(direction[n, r, y]))


@kernel
def _curvature(
    kind: Any, scores: Any, direction: Any, labels: Any, weights: Any, cost: Any, out: Any, first: Any, last: Any
) -> None:
    classes = scores.shape[2]
    s = np.empty(classes)
    p = np.empty(classes)
    for n in range(first, last):
        y = labels[n]
        for r in range(scores.shape[1]):
            weight = weights[n, r]
            for k in range(classes):
                s[k] = scores[n, r, k]
                out[n, r, k] = 0
            if weight <= 0:
                continue
            if kind == 0:
                _probabilities(s, p)
                mean = 0.0
                for k in range(classes):
                    mean += p[k] * direction[n, r, k]
                for k in range(classes):
                    out[n, r, k] = weight * p[k] * (direction[n, r, k] - mean)
                continue
            whole = 0.0
            for k in range(classes):
                if k != y and s[k] + cost[y, k] - s[y] > 0:
                    pull = 2.0 * weight * (np.float64(direction[n, r, k]) - np.float64(direction[n, r, y]))
                    out[n, r, k] = pull
                    whole += pull
            out[n, r, y] = -whole


@kernel
def _diagonal(kind: Any, scores: Any, labels: Any, weights: Any, cost: Any, out: Any, first: Any, last: Any) -> None:
    classes = scores.shape[2]
    s = np.empty(classes)
    p = np.empty(classes)
    for n in range(first, last):
        y = labels[n]
        for r in range(scores.shape[1]):
            weight = weights[n, r]
            for k in range(classes):
                s[k] = scores[n, r, k]
                out[n, r, k] = 0
            if weight <= 0:
                continue
            if kind == 0:
                _probabilities(s, p)
                for k in range(classes):
                    out[n, r, k] = weight * p[k] * (1.0 - p[k])
                continue
            active = 0
            for k in range(classes):
                if k != y and s[k] + cost[y, k] - s[y] > 0:
                    out[n, r, k] = 2.0 * weight
                    active += 1
            out[n, r, y] = 2.0 * weight * active
