"""Batch learners of linear models: a loss, a penalty, and an optimiser that sees all rows in every step.

Minimised is F(W) = C · Σ c_n loss(x_n·W, y_n) + ridge/2 · ‖W‖² + lasso · ‖W‖₁ (class weights c_n; the offset row of W
without penalty). A step is one iteration. All replicas step in lockstep, each by its own numbers alone.

Converged means, with a ridge: ‖∇F‖² / (2 ridge) ≤ tol · F, which bounds how far F is above its minimum, whatever
the scales of the features: F is strongly convex in all but the offset, and this is the duality gap of the duals that
belong to the scores. Without a ridge: the gradient, for L1 the steepest one-sided slopes, is at most `tol` of the one
at W = 0.

With `warm_epochs`, the first step is that many epochs of dual coordinate descent (gpuclf.ops.dual_epoch), which come
near the optimum at the cost of some iterations; the optimiser goes on from their weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.linear.dual import DualDescent
from gpuclf.models.linear.objective import Aim, Objective, float_type, option
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.linear.training_rows import sparse
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.replica_vectors import replica_combination
from gpuclf.ops.sparse_gradient import Columns, columns_of
from gpuclf.optim.lbfgs import History, descent_direction, empty_history, forget, remember
from gpuclf.optim.line_search import wolfe_step
from gpuclf.optim.newton import newton_direction
from gpuclf.optim.orthant import align, move, orthant_of, pseudo_gradient
from gpuclf.optim.schedules import Schedule

MEMORY = 10  # steps that the quasi-Newton methods remember
_PRODUCTS = 100  # of the Hessian, at most, for one Newton step
_BACKTRACKS = 40
DescentKind = Literal["lbfgs", "owlqn", "newton", "gradient_descent"]


@dataclass(frozen=True)
class DescentState:
    """After `count` iterations. point, gradient (M, R, K): vectors of the space, scores (docs, R, K) of the point.

    value, start, norm, gap, length (R,) float64: F; gradient norms at 0 and now; relative bound on F above its
    minimum (0 where there is none); length of the last step along its direction. stuck (R,) bool: the last step found
    nothing lower. history: of the quasi-Newton methods. columns: the rows by feature, made once.
    """

    count: int
    columns: Columns
    history: History | None
    point: Tensor = replica_field(1)
    scores: Tensor = replica_field(1)
    gradient: Tensor = replica_field(1)
    value: Tensor = replica_field()
    start: Tensor = replica_field()
    norm: Tensor = replica_field()
    gap: Tensor = replica_field()
    length: Tensor = replica_field()
    stuck: Tensor = replica_field()


@dataclass(frozen=True)
class BatchDescent:
    """The learner; see the module. C, l1_ratio and learning_rate come per replica, or from here where no grid does."""

    aim: Aim
    optimizer: DescentKind
    tol: float
    schedule: Schedule | None
    learning_rate: float
    warm_epochs: int = 0

    def init(self, problem: Problem) -> DescentState:
        """All weights zero."""
        rows = sparse(problem)
        columns = columns_of(rows.crow, rows.col, rows.val, rows.num_features)
        objective = self.aim.objective(problem, columns)
        point = objective.space.zero(problem.num_classes, float_type(problem))
        scores = point.new_zeros((rows.num_docs, *point.shape[1:]))
        value, gradient = objective.smooth(point, scores)
        slopes = objective.slopes(point, gradient)
        norm = objective.space.dots([(slopes, slopes)])[0].clamp(min=0).sqrt()
        quasi = self.optimizer in ("lbfgs", "owlqn")
        state = DescentState(
            count=0,
            columns=columns,
            history=empty_history(MEMORY, point) if quasi else None,
            point=point,
            scores=scores,
            gradient=gradient,
            value=value,
            start=norm,
            norm=norm.clone(),
            gap=torch.zeros_like(norm),
            length=torch.zeros_like(norm),
            stuck=torch.zeros_like(norm, dtype=torch.bool),
        )
        return self._measured(objective, state)

    def step(self, problem: Problem, state: DescentState) -> DescentState:
        """One iteration."""
        objective = self.aim.objective(problem, state.columns)
        if state.count == 0 and self.warm_epochs:
            return self._warm_step(problem, objective, state)
        if self.optimizer == "owlqn":
            point, scores, length = self._orthant_step(objective, state)
        else:
            point, scores, length = self._line_step(problem, objective, state)
        value, gradient = objective.smooth(point, scores)
        history = state.history
        stuck = length == 0
        if history is not None:
            plus_minus = torch.ones((2, length.numel()), dtype=torch.float64, device=length.device)
            plus_minus[1] = -1
            moved = replica_combination(plus_minus, [point, state.point])
            change = replica_combination(plus_minus, [gradient, state.gradient])
            history = remember(history, moved, change, gradient, objective.space.dots)
            history = forget(history, stuck)
        after = replace(
            state,
            count=state.count + 1,
            history=history,
            point=point,
            scores=scores,
            gradient=gradient,
            value=value + objective.absolute(point),
            length=length,
            stuck=stuck,
        )
        return self._measured(objective, after)

    def finished(self, problem: Problem, state: DescentState) -> Tensor:
        """Converged, as the module says. A replica that finds no lower point has not."""
        return self.aim.reached(problem, state.norm, state.gap, state.start, self.tol)

    def result(self, problem: Problem, state: DescentState) -> LinearPredictor:
        space = self.aim.space(problem, state.columns)
        return LinearPredictor(space.weights(state.point), None)

    def alternatives(self, problem: Problem, state: DescentState) -> dict[str, LinearPredictor]:
        return {}

    def progress(self, problem: Problem, state: DescentState) -> dict[str, Tensor]:
        """F, the gradient norm relative to the start, the bound on F above its minimum, the step, and sparsity."""
        scale = torch.where(state.start > 0, state.start, 1.0)
        figures = {"objective": state.value, "gradient_norm": state.norm / scale, "step_size": state.length}
        if self.aim.penalty.kind in ("l2", "elasticnet"):
            figures["gap"] = state.gap
        if not self.aim.penalty.smooth:
            figures["nonzeros"] = (state.point[1:] != 0).sum((0, 2))
        return figures

    def _line_step(self, problem: Problem, objective: Objective, state: DescentState) -> tuple[Tensor, Tensor, Tensor]:
        """Point, scores and step length after a step along a direction that goes down."""
        space = objective.space
        direction = self._direction(objective, state)
        slope = space.dots([(direction, state.gradient)])[0]
        if self.schedule is not None:
            number = torch.tensor(state.count + 1, device=slope.device)
            length = self.schedule.rates(option(problem, "model.learning_rate", self.learning_rate), number)
            along = space.scores(direction)
        else:
            along = space.scores(direction)
            pairs = [(state.point, state.point), (state.point, direction), (direction, direction)]
            square, mixed, own = space.penalised_dots(pairs)

            def function(step: Tensor) -> tuple[Tensor, Tensor]:
                value, rise = objective.loss.along(state.scores, along, step, objective.labels, objective.weights)
                value = value + objective.ridge * (0.5 * square + step * mixed + 0.5 * step * step * own)
                return value, rise + objective.ridge * (mixed + step * own)

            rounding = 1e-13 if state.point.dtype == torch.float64 else 1e-7
            length = wolfe_step(function, state.value, slope, self._first_guess(state, slope), rounding)
        factors = torch.stack([torch.ones_like(length), length])
        point = replica_combination(factors, [state.point, direction])
        return point, replica_combination(factors, [state.scores, along]), length

    def _direction(self, objective: Objective, state: DescentState) -> Tensor:
        space = objective.space
        if self.optimizer == "newton":
            weights, labels = objective.weights, objective.labels

            def hessian(vector: Tensor) -> Tensor:
                bent = objective.loss.curvature(state.scores, space.scores(vector), labels, weights)
                product = space.lift(bent)
                product[1:] += objective.ridge.to(vector.dtype)[:, None] * vector[1:]
                return product

            forcing = (state.norm / torch.where(state.start > 0, state.start, 1.0)).sqrt().clamp(max=0.5)
            return newton_direction(hessian, state.gradient, forcing, _PRODUCTS, space.dots)
        if state.history is not None:
            return descent_direction(state.history, state.gradient)
        return -state.gradient

    def _first_guess(self, state: DescentState, slope: Tensor) -> Tensor:
        """1 where the direction knows the curvature; else the last step, somewhat longer, or one of length 1."""
        unit = 1.0 / torch.where(state.norm > 0, state.norm, 1.0)
        if self.optimizer == "newton":
            return torch.ones_like(slope)
        if state.history is not None:
            known = state.history.usable.any(0)
            return torch.where(known, torch.ones_like(slope), torch.minimum(unit, torch.ones_like(unit)))
        return torch.where(state.length > 0, 2.0 * state.length, unit)

    def _warm_step(self, problem: Problem, objective: Objective, state: DescentState) -> DescentState:
        """The first step: epochs of dual coordinate descent, instead of one along the gradient at 0."""
        dual = DualDescent(self.aim, self.tol, shuffle=True)
        found = dual.init(problem)
        for _ in range(self.warm_epochs):
            found = dual.step(problem, found)
        residual = dual.residuals(problem, found).to(state.point.dtype)
        point = objective.space.from_duals(found.weights.to(state.point.dtype), residual)
        scores = objective.space.scores(point)
        value, gradient = objective.smooth(point, scores)
        after = replace(
            state, count=1, point=point, scores=scores, gradient=gradient, value=value, length=torch.ones_like(value)
        )
        return self._measured(objective, after)

    def _orthant_step(self, objective: Objective, state: DescentState) -> tuple[Tensor, Tensor, Tensor]:
        """OWL-QN: a quasi-Newton direction made from the one-sided slopes; halved until F goes down enough."""
        assert state.history is not None
        space = objective.space
        pseudo = pseudo_gradient(state.point, state.gradient, objective.lasso)
        products = space.dots(
            [(vector, pseudo) for part in (state.history.steps, state.history.changes) for vector in part]
        )
        size = products.shape[0] // 2
        for_slopes = replace(state.history, s_g=products[:size], y_g=products[size:])
        direction = align(descent_direction(for_slopes, pseudo), pseudo)
        orthant = orthant_of(state.point, pseudo)
        step = torch.where(state.history.usable.any(0), 1.0, (1.0 / state.norm.clamp(min=1e-300)).clamp(max=1.0))
        point, scores = state.point, state.scores
        taken = torch.zeros_like(step)
        for _ in range(_BACKTRACKS):
            trial = move(state.point, torch.where(taken > 0, taken, step), direction, orthant)
            reached = space.scores(trial)
            value, _ = objective.loss.along(
                reached, torch.zeros_like(reached), torch.zeros_like(step), objective.labels, objective.weights
            )
            value = (
                value + 0.5 * objective.ridge * space.penalised_dots([(trial, trial)])[0] + objective.absolute(trial)
            )
            promised = space.dots([(trial - state.point, pseudo)])[0]
            good = (taken == 0) & (value <= state.value + 1e-4 * promised) & (promised < 0)
            taken = torch.where(good, step, taken)
            keep = (taken > 0)[:, None]
            point, scores = torch.where(keep, trial, state.point), torch.where(keep, reached, state.scores)
            if bool((taken > 0).all()):
                break
            step = 0.5 * step
        return point, scores, taken

    def _measured(self, objective: Objective, state: DescentState) -> DescentState:
        norm, gap = objective.measure(state.point, state.gradient, state.value)
        return replace(state, norm=norm, gap=gap)
