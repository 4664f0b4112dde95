"""What the gradient methods of linear models minimise, and how far from its minimum they are."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.linear.spaces import DocumentSpace, Space, WeightSpace
from gpuclf.models.linear.training_rows import row_weights, spans_of, sparse
from gpuclf.ops.sparse_gradient import Columns
from gpuclf.optim.losses import Loss
from gpuclf.optim.orthant import pseudo_gradient
from gpuclf.optim.penalties import Penalty

_SMALL = 1 << 20  # weights of a replica up to which all is float64

_VANISHED = 1e-3  # times tol: slopes beside the first ones that are as good as none


@dataclass(frozen=True)
class Aim:
    """A loss and a penalty with their numbers: F(W) = C · Σ c_n loss_n + ridge/2 · ‖W‖² + lasso · ‖W‖₁.

    C and l1_ratio come per replica, or from here where no grid varies them; class_weight is c by class, or "balanced".
    """

    loss: Loss
    penalty: Penalty
    C: float
    l1_ratio: float
    offset: bool
    class_weight: tuple[float, ...] | str | None

    def factors(self, problem: Problem) -> tuple[Tensor, Tensor]:
        """ridge and lasso, each (R,) float64."""
        return self.penalty.factors(option(problem, "model.l1_ratio", self.l1_ratio))

    def bounds(self, problem: Problem) -> Tensor:
        """C · c_n for the rows that a replica trains on, else 0: (docs, R) float64."""
        C = option(problem, "model.C", self.C)
        given = self.class_weight
        by_class = torch.tensor(given, dtype=torch.float64) if isinstance(given, tuple) else given
        factor = torch.ones_like(C) if self.penalty.kind == "none" else C
        return row_weights(problem, spans_of(problem), factor, by_class)

    def objective(self, problem: Problem, columns: Columns, *, weights_only: bool = False) -> Objective:
        """F of a problem, in the space of documents' coefficients where they make smaller vectors than weights."""
        ridge, lasso = self.factors(problem)
        space = self.space(problem, columns, weights_only=weights_only)
        return Objective(self.loss, space, problem.labels, self.bounds(problem), ridge, lasso)

    def reached(self, problem: Problem, norm: Tensor, gap: Tensor, start: Tensor, tol: float) -> Tensor:
        """(R,) bool: near enough to the minimum; start: the norm of the slopes at W = 0.

        Where F itself goes to 0, as with a single class, no distance is small beside it: there the slopes decide.
        """
        ridge, _ = self.factors(problem)
        return torch.where(ridge > 0, (gap <= tol) | (norm <= _VANISHED * tol * start), norm <= tol * start)

    def space(self, problem: Problem, columns: Columns, *, weights_only: bool = False) -> Space:
        rows = sparse(problem)
        if self.penalty.kind == "l2" and 2 * rows.num_docs < rows.num_features and not weights_only:
            return DocumentSpace(rows, columns, spans_of(problem), self.offset)
        return WeightSpace(rows, columns, spans_of(problem), self.offset)


@dataclass(frozen=True)
class Objective:
    """F of a problem in a space: what a step works with, made anew from the problem for each."""

    loss: Loss
    space: Space
    labels: Tensor
    weights: Tensor
    ridge: Tensor
    lasso: Tensor

    def smooth(self, point: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Value (R,) without the L1 part, and its gradient, a vector."""
        value, by_score = self.loss.value_and_gradient(scores, self.labels, self.weights)
        gradient = self.space.lift(by_score)
        gradient[1:] += self.ridge.to(point.dtype)[:, None] * point[1:]
        return value + 0.5 * self.ridge * self.space.penalised_dots([(point, point)])[0], gradient

    def absolute(self, point: Tensor) -> Tensor:
        """The L1 part of F, (R,) float64."""
        if not bool((self.lasso > 0).any()):
            return torch.zeros_like(self.lasso)
        return self.lasso * self.space.penalised_dots([(point, point.sign())])[0]

    def slopes(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The gradient, or with L1 the steepest one-sided slopes."""
        return pseudo_gradient(point, gradient, self.lasso) if bool((self.lasso > 0).any()) else gradient

    def measure(self, point: Tensor, gradient: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Norm of the slopes, and ‖∇F‖² / (2 ridge F), 0 without a ridge; each (R,) float64. value is F."""
        slopes = self.slopes(point, gradient)
        square = self.space.dots([(slopes, slopes)])[0].clamp(min=0)
        gap = torch.where((self.ridge > 0) & (square > 0), square / (2 * self.ridge * value), 0.0)
        return square.sqrt(), gap


def option(problem: Problem, key: str, default: float) -> Tensor:
    """An option of the replicas (R,) float64."""
    like = torch.full((len(problem.replicas),), default, dtype=torch.float64)
    return problem.replicas.options.get(key, like).to(problem.labels.device)


def float_type(problem: Problem) -> torch.dtype:
    """The type to compute in: float64 for small models, where it costs nothing."""
    small = (sparse(problem).num_features + 1) * problem.num_classes <= _SMALL
    return torch.float64 if small else torch.float32
