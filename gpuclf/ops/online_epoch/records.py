"""Records that an online epoch works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class ScaledRows:
    """Labelled rows in CSR form under several views; the offset (column 0, value 1) is not stored.

    crow (docs+1,) int64, col (nnz,) int32 or int64 in 1..V, val (nnz,) float32, labels (docs,) int64;
    col_scale (views, V+1) and row_scale (views, docs) float32, None for ones. Value: val · col_scale · row_scale.
    """

    crow: Tensor
    col: Tensor
    val: Tensor
    labels: Tensor
    col_scale: Tensor | None = None
    row_scale: Tensor | None = None


@dataclass(frozen=True)
class Streams:
    """G streams of rows; all replicas of a stream see the same rows in the same order.

    order (G, T) int64: row numbers in visiting order, each at most once, -1 after the end of a shorter stream;
    view (G,) int64; start (G+1,) int64: the replicas of stream g are start[g] .. start[g+1]-1.
    """

    order: Tensor
    view: Tensor
    start: Tensor


@dataclass(frozen=True)
class Rule:
    """An online rule, per replica r: C (R,), gamma (R,) float64; cost (K, K) float64 or None for 1.

    y is the gold class, rival the highest-scoring wrong class (ties: lowest index; with `cost_augmented` the highest
    score + cost), m = s_y - s_rival, q = |x|² with the offset, so that the step direction has the square 2q.
    The target l is cost[y, rival]; with `scaled_margin` it is gamma · sqrt(2q) instead.
    Update when the prediction is wrong (update_on "error") or when m < l ("margin"), by alpha:

      perceptron  1                                     Collins 2002; Eisenstein Alg. 3 (updates on errors only)
      pa1         min(C, (l - m) / 2q)                  Crammer et al. 2006, PA-I; C = inf is plain MIRA
      pa2         (l - m) / (2q + 1/2C)                 Crammer et al. 2006, PA-II
    """

    step: Literal["perceptron", "pa1", "pa2"]
    C: Tensor
    gamma: Tensor
    cost: Tensor | None = None
    update_on: Literal["error", "margin"] = "error"
    scaled_margin: bool = False
    cost_augmented: bool = False


@dataclass(frozen=True)
class Model:
    """What the epoch changes in place. Everything a rule keeps per weight has the shape of the weights.

    weights (V+1, R, K) float32 or float64; sums of the same shape, or None without averaging; steps (R,) int64:
    instances seen so far. At instance t = steps + 1 an update D adds D to the weights and (t-1) · D to the sums; then
    the mean of the weights after each of T instances is weights - sums / T (Eisenstein Alg. 4).
    limited (R,) bool becomes True with the first step whose length C decides: pa1 a longer one than C, pa2 any. Those
    replicas of a stream for which it is False must have started with the same weights; they still have the same ones,
    and an implementation may work on them once. None: nothing is known.
    """

    weights: Tensor
    sums: Tensor | None
    steps: Tensor
    limited: Tensor | None = None


class Counts(NamedTuple):
    """Of one epoch, each (R,): wrong predictions and updates, int64; sum of max(0, l - m), float64.

    The perceptron's l is 0. All three are taken when an instance is visited, before its update.
    """

    mistakes: Tensor
    updates: Tensor
    loss: Tensor


def no_counts(steps: Tensor) -> Counts:
    """Counts of nothing, for as many replicas as there are steps (R,)."""
    nothing = torch.zeros_like(steps)
    return Counts(nothing, nothing.clone(), nothing.to(torch.float64))
