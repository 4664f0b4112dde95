"""Limited-memory BFGS (Nocedal 1980) for many replicas: the two loops run on inner products, not on vectors.

The direction is a combination of the remembered steps s, gradient changes y and the gradient, so only its coefficients
are computed by the two-loop recursion, from tables of inner products (Chen, Wang & Zhou 2014, "Large-scale L-BFGS using
MapReduce"). Vectors are read once for their products with the gradient and once for the sum. What a vector is, only the
caller's `dots` knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from gpuclf.ops.replica_vectors import replica_combination

Dots = Callable[[Sequence[tuple[Tensor, Tensor]]], Tensor]  # pairs of vectors -> (pairs, R) float64


@dataclass(frozen=True)
class History:
    """The last m steps of R replicas, each in the slot (its number mod m).

    steps, changes (m, M, R, K); sy[i, j] = s_i · y_j, yy[i, j] = y_i · y_j, (m, m, R) float64; s_g, y_g (m, R):
    products with the latest gradient; usable (m, R) bool: s · y > 0, else the slot does not count for the replica.
    gpuclf.models.replica_axis reads the metadata.
    """

    steps: Tensor = field(metadata={"replica_axis": 2})
    changes: Tensor = field(metadata={"replica_axis": 2})
    sy: Tensor = field(metadata={"replica_axis": 2})
    yy: Tensor = field(metadata={"replica_axis": 2})
    s_g: Tensor = field(metadata={"replica_axis": 1})
    y_g: Tensor = field(metadata={"replica_axis": 1})
    usable: Tensor = field(metadata={"replica_axis": 1})
    count: int = field(kw_only=True)


def empty_history(size: int, like: Tensor) -> History:
    """No steps yet; room for `size` steps of vectors such as `like` (M, R, K)."""
    replicas = like.shape[1]

    def zeros(*shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float64, device=like.device)

    return History(
        steps=like.new_zeros((size, *like.shape)),
        changes=like.new_zeros((size, *like.shape)),
        sy=zeros(size, size, replicas),
        yy=zeros(size, size, replicas),
        s_g=zeros(size, replicas),
        y_g=zeros(size, replicas),
        usable=zeros(size, replicas).bool(),
        count=0,
    )


def remember(history: History, step: Tensor, change: Tensor, gradient: Tensor, dots: Dots) -> History:
    """The history with one more step, its gradient change, and the gradient after it. The tensors are reused."""
    size = history.steps.shape[0]
    slot, known = history.count % size, min(history.count, size)
    history.steps[slot] = step
    history.changes[slot] = change
    slots = range(min(known + 1, size))
    pairs = [(history.steps[i], gradient) for i in slots] + [(history.changes[i], gradient) for i in slots]
    pairs += [(history.steps[slot], history.changes[slot]), (history.changes[slot], history.changes[slot])]
    products = dots(pairs)
    s_g, y_g = torch.zeros_like(history.s_g), torch.zeros_like(history.y_g)
    s_g[: len(slots)], y_g[: len(slots)] = products[: len(slots)], products[len(slots) : -2]
    # y is the change of the gradient, so products with it are changes of products.
    history.sy[:, slot] = s_g - history.s_g
    history.sy[slot] = 0
    history.yy[:, slot] = history.yy[slot] = y_g - history.y_g
    history.sy[slot, slot], history.yy[slot, slot] = products[-2], products[-1]
    history.usable[slot] = products[-2] > 1e-12 * products[-1].sqrt() * _length(history, slot, dots)
    return replace(history, s_g=s_g, y_g=y_g, count=history.count + 1)


def _length(history: History, slot: int, dots: Dots) -> Tensor:
    return dots([(history.steps[slot], history.steps[slot])])[0].clamp(min=0).sqrt()


def forget(history: History, replicas: Tensor) -> History:
    """The history without the steps of some replicas, (R,) bool."""
    return replace(history, usable=history.usable & ~replicas)


def descent_direction(history: History, gradient: Tensor) -> Tensor:
    """-H·gradient (M, R, K); the negative gradient for replicas without a usable step."""
    size = history.steps.shape[0]
    known = min(history.count, size)
    newest_first = [(history.count - 1 - age) % size for age in range(known)]
    rho = torch.where(history.usable, 1.0 / history.sy.diagonal().t(), 0.0)
    alpha = torch.zeros_like(history.s_g)
    for place, i in enumerate(newest_first):
        product = history.s_g[i].clone()
        for j in newest_first[:place]:
            product -= alpha[j] * history.sy[i, j]
        alpha[i] = rho[i] * product
    scale = torch.ones_like(history.s_g[0])
    for i in reversed(newest_first):
        scale = torch.where(history.usable[i], history.sy[i, i] / history.yy[i, i], scale)
    weight = torch.zeros_like(alpha)
    for place, i in enumerate(reversed(newest_first)):
        product = history.y_g[i].clone()
        for j in newest_first:
            product -= alpha[j] * history.yy[i, j]
        product *= scale
        for j in list(reversed(newest_first))[:place]:
            product += weight[j] * history.sy[j, i]
        weight[i] = torch.where(history.usable[i], alpha[i] - rho[i] * product, 0.0)
    vectors = [gradient, *(history.steps[i] for i in newest_first), *(history.changes[i] for i in newest_first)]
    factors = [-scale, *(-weight[i] for i in newest_first), *(scale * alpha[i] for i in newest_first)]
    return replica_combination(torch.stack(factors), vectors)
