"""Limited-memory BFGS (Nocedal 1980) for many replicas: the two loops run on inner products, not on vectors.

The direction is a combination of the remembered steps s, gradient changes y and the gradient, so only its coefficients
are computed by the two-loop recursion, from tables of inner products (Chen, Wang & Zhou 2014, "Large-scale L-BFGS using
MapReduce"). Vectors are read once for their products with the gradient and once for the sum.

The first guess of the inverse Hessian is scale · D with a diagonal D, from the caller: that of the Hessian itself makes
frequent and rare features alike (Nocedal & Wright 2006, section 7.2). Where there is none, D is the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from gpuclf.ops.replica_vectors import replica_combination

Dots = Callable[[Sequence[tuple[Tensor, ...]]], Tensor]  # pairs (u, v), or (u, v, w) -> Σ u v w, (pairs, R) float64


@dataclass(frozen=True)
class History:
    """The last m steps of R replicas, each in the slot (its number mod m).

    steps, changes (m, M, R, K); sy[i, j] = s_i · y_j, yy[i, j] = y_i · D y_j, (m, m, R) float64; s_g, y_g (m, R):
    s_i · g and y_i · D g with the latest gradient; usable (m, R) bool: s · y > 0, else the slot does not count for the
    replica.
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


def next_slot(history: History) -> tuple[Tensor, Tensor]:
    """Where the next step and its gradient change are to be written before `remember`: the slot of the oldest ones."""
    slot = history.count % history.steps.shape[0]
    return history.steps[slot], history.changes[slot]


def remember(history: History, gradient: Tensor, inverse: Tensor | None, dots: Dots) -> History:
    """The history with one more step, which is in `next_slot`, and the gradient after it. The tensors are reused.

    inverse (M, R, K): the diagonal D, the same as in all calls since `rescaled`; None: the identity.
    """
    size = history.steps.shape[0]
    slot, known = history.count % size, min(history.count, size)
    step, change = next_slot(history)
    slots = range(min(known + 1, size))
    scale = () if inverse is None else (inverse,)
    pairs: list[tuple[Tensor, ...]] = [(history.steps[i], gradient) for i in slots]
    pairs += [(history.changes[i], gradient, *scale) for i in slots]
    products = dots([*pairs, (step, change), (change, change, *scale), (step, step), (change, change)])
    s_g, y_g = torch.zeros_like(history.s_g), torch.zeros_like(history.y_g)
    s_g[: len(slots)], y_g[: len(slots)] = products[: len(slots)], products[len(slots) : -4]
    own, curved, length, rise = products[-4:]
    # y is the change of the gradient, so products with it are changes of products.
    history.sy[:, slot] = s_g - history.s_g
    history.sy[slot] = 0
    history.yy[:, slot] = history.yy[slot] = y_g - history.y_g
    history.sy[slot, slot], history.yy[slot, slot] = own, curved
    history.usable[slot] = own > 1e-12 * rise.sqrt() * length.sqrt()
    return replace(history, s_g=s_g, y_g=y_g, count=history.count + 1)


def rescaled(history: History, gradient: Tensor, inverse: Tensor, dots: Dots) -> History:
    """The history under another diagonal D; `gradient` is the latest one."""
    known = min(history.count, history.steps.shape[0])
    if not known:
        return history
    changes = list(history.changes[:known])
    yy, y_g = torch.zeros_like(history.yy), torch.zeros_like(history.y_g)
    pairs = [(i, j) for i in range(known) for j in range(i + 1)]
    products = dots(
        [*((changes[i], changes[j], inverse) for i, j in pairs), *((c, gradient, inverse) for c in changes)]
    )
    for (i, j), product in zip(pairs, products, strict=False):
        yy[i, j] = yy[j, i] = product
    y_g[:known] = products[len(pairs) :]
    return replace(history, yy=yy, y_g=y_g)


def forget(history: History, replicas: Tensor) -> History:
    """The history without the steps of some replicas, (R,) bool."""
    return replace(history, usable=history.usable & ~replicas)


def descent_direction(history: History, gradient: Tensor, inverse: Tensor | None = None) -> Tensor:
    """-H·gradient (M, R, K); -D·gradient for replicas without a usable step.

    It lies where the next step's gradient change will (`next_slot`), and goes when that is written.
    """
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
    steps, changes = ([part[i] for i in newest_first] for part in (history.steps, history.changes))
    factors = [-scale, *(scale * alpha[i] for i in newest_first), *(-weight[i] for i in newest_first)]
    scaled = 0 if inverse is None else 1 + known
    _, out = next_slot(history)
    return replica_combination(torch.stack(factors), [gradient, *changes, *steps], inverse, scaled, out=out)
