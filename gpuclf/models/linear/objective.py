"""What the gradient methods of linear models minimise, and how far from its minimum they are."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.linear.training_rows import row_weights
from gpuclf.models.replica_rows import option, spans_of, sparse
from gpuclf.models.view_rows import ViewRows, parts_of_views
from gpuclf.models.weight_space import WeightSpace, parts_of_rows
from gpuclf.ops.replica_vectors import replica_combination, replica_dots
from gpuclf.ops.sparse_gradient import Columns
from gpuclf.optim.losses import Loss
from gpuclf.optim.orthant import pseudo_gradient
from gpuclf.optim.penalties import Penalty

_VANISHED = 1e-3  # times tol: slopes beside the first ones that are as good as none
_SLACK = 3.0  # how far the estimate with the Hessian's diagonal is corrected; seen: the distance is 0.7 to 2.2 times it


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

    def objective(self, problem: Problem, made: Columns | ViewRows) -> Objective:
        """F of a problem over the matrices of its views, or over its own rows, of which `made` are the columns."""
        spans, rows = spans_of(problem), sparse(problem)
        if isinstance(made, ViewRows):
            parts, columns = parts_of_views(made, spans), made.width + 1
        else:
            parts, columns = parts_of_rows(rows, made, spans), rows.num_features + 1
        ridge, lasso = self.factors(problem)
        space = WeightSpace(parts, columns, rows.num_docs, self.offset)
        return Objective(self.loss, space, problem.labels, self.bounds(problem), ridge, lasso)

    def reached(self, problem: Problem, norm: Tensor, gap: Tensor, start: Tensor, tol: float) -> Tensor:
        """(R,) bool: near enough to the minimum; start: the norm of the slopes at W = 0.

        Where F itself goes to 0, as with a single class, no distance is small beside it: there the slopes decide.
        """
        ridge, _ = self.factors(problem)
        return torch.where(ridge > 0, (gap <= tol) | (norm <= _VANISHED * tol * start), norm <= tol * start)


@dataclass(frozen=True)
class Objective:
    """F of a problem in a space: what a step works with, made anew from the problem for each."""

    loss: Loss
    space: WeightSpace
    labels: Tensor
    weights: Tensor
    ridge: Tensor
    lasso: Tensor

    def smooth(self, point: Tensor, scores: Tensor, square: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Value (R,) without the L1 part, and its gradient, a vector; square (R,): ‖W‖², where it is known."""
        value, by_score = self.loss.value_and_gradient(scores, self.labels, self.weights)
        gradient = self.space.lift(by_score)
        factors = torch.stack([torch.ones_like(self.ridge), self.ridge])
        replica_combination(factors, [gradient[1:], point[1:]], out=gradient[1:])
        square = _square(point[1:]) if square is None else square
        return value + 0.5 * self.ridge * square, gradient

    def absolute(self, point: Tensor) -> Tensor:
        """The L1 part of F, (R,) float64."""
        if not bool((self.lasso > 0).any()):
            return torch.zeros_like(self.lasso)
        return self.lasso * replica_dots([(point[1:], point[1:].sign())])[0]

    def slopes(self, point: Tensor, gradient: Tensor) -> Tensor:
        """The gradient, or with L1 the steepest one-sided slopes."""
        return pseudo_gradient(point, gradient, self.lasso) if bool((self.lasso > 0).any()) else gradient

    def inverse_diagonal(self, point: Tensor, scores: Tensor) -> Tensor:
        """One over the diagonal of F's second derivative, a vector; 1 where there is no curvature."""
        diagonal = self.space.lift_squares(self.loss.diagonal(scores, self.labels, self.weights))
        diagonal[1:] += self.ridge.to(point.dtype)[:, None]
        # The losses do not see a sum common to all offsets, nothing penalises it, and one scale for all leaves it at 0.
        diagonal[0] = diagonal[0].mean(-1, keepdim=True)
        diagonal.reciprocal_()
        flat = diagonal if bool((self.ridge == 0).any()) else diagonal[:1]  # rows that may have no curvature
        flat.masked_fill_(flat.isinf(), 1.0)
        if not self.space.offset:
            diagonal[0] = 0
        return diagonal

    def measure(
        self, point: Tensor, gradient: Tensor, value: Tensor, inverse: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Norm of the slopes, and how far F is above its minimum, relative to F; each (R,) float64. value is F.

        The distance, 0 without a ridge, is at most ‖∇F‖² / (2 ridge F). It is nearly ∇F · H⁻¹∇F / (2 F); the estimate
        with the Hessian's diagonal for H, and _SLACK, is taken where that is known and less.
        """
        slopes = self.slopes(point, gradient)
        pairs = [(slopes, slopes), *([] if inverse is None else [(slopes, slopes, inverse)])]
        products = replica_dots(pairs).clamp(min=0)
        square = products[0]
        above = square / (2 * self.ridge)
        if inverse is not None:
            above = torch.minimum(above, 0.5 * _SLACK * products[1])
        return square.sqrt(), torch.where((self.ridge > 0) & (square > 0), above / value, 0.0)


def _square(vector: Tensor) -> Tensor:
    return replica_dots([(vector, vector)])[0]
