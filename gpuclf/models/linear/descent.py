"""Batch learners of linear models: a loss, a penalty, and an optimiser that sees all rows in every step.

Minimised is F(W) = C · Σ c_n loss(x_n·W, y_n) + ridge/2 · ‖W‖² + lasso · ‖W‖₁ (class weights c_n; the offset row of W
without penalty). A step is one iteration. All replicas step in lockstep, each by its own numbers alone.

Converged means, with a ridge: ‖∇F‖² / (2 ridge) ≤ tol · F, which bounds how far F is above its minimum, whatever
the scales of the features: F is strongly convex in all but the offset, and this is the duality gap of the duals that
belong to the scores. L-BFGS and Newton's method, which know the diagonal of the Hessian, also stop by an estimate of
that distance that is much nearer where C is great (Objective.measure). L-BFGS has a second one, from how F has fallen
lately (still_to_fall): an eighth of the first is enough where the second agrees. Without a ridge: the gradient, for L1
the steepest one-sided slopes, is at most `tol` of the one at W = 0.

With `warm_epochs`, the first step is epochs of dual coordinate descent (gpuclf.ops.dual_epoch): that many, fewer where
the duality gap is at `tol` before (but 5), and more for replicas whose gap falls so fast that they get there sooner
than the optimiser would, which goes on from the weights of the others. On a device without a kernel for such an epoch,
which is one document after the other, the optimiser starts at 0: that is, on CUDA.

L-BFGS, Newton's method and gradient descent work on the matrices of gpuclf.models.view_rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.linear.dual import DualDescent
from gpuclf.models.linear.objective import Aim, Objective
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import put_replicas, replica_field, take_replicas
from gpuclf.models.replica_rows import float_type, option, sparse
from gpuclf.models.view_rows import ViewRows, view_rows
from gpuclf.ops.dual_epoch import has_kernel
from gpuclf.ops.replica_vectors import replica_combination, replica_dots
from gpuclf.optim.falling import still_to_fall
from gpuclf.optim.lbfgs import History, descent_direction, empty_history, forget, next_slot, remember, rescaled
from gpuclf.optim.line_search import wolfe_step
from gpuclf.optim.newton import newton_direction
from gpuclf.optim.orthant import align, move, orthant_of, pseudo_gradient
from gpuclf.optim.schedules import Schedule

MEMORY = {"lbfgs": 5, "owlqn": 10}  # steps that the quasi-Newton methods remember
_FRESH = 16  # iterations after which L-BFGS takes the Hessian's diagonal anew; the first ones come sooner
_SPAN = 8  # iterations over which the fall of F is compared with that of as many before
_FEWER = 8.0  # times the estimate by the diagonal alone is what is above the minimum, at most, as far as seen
_FLATTER = 0.25  # a line search costs little beside an iteration, and a good step saves some
_FURTHER = 15  # epochs of dual coordinate descent that are worth waiting for the optimum
_FEWEST_EPOCHS, _MOST_EPOCHS = 5, 25
_PRODUCTS = 100  # of the Hessian, at most, for one Newton step
_BACKTRACKS = 40
DescentKind = Literal["lbfgs", "owlqn", "newton", "gradient_descent"]


@dataclass(frozen=True)
class DescentState:
    """After `count` iterations, over the matrices `made`. point, gradient (width+1, R, K); scores (docs, R, K) of the
    point; inverse (width+1, R, K): one over the diagonal of the Hessian, of methods that use it.

    value, start, norm, gap, length (R,) float64: F; gradient norms at 0 and now; relative bound on F above its
    minimum (0 where there is none); length of the last step along its direction. stuck (R,) bool: the last step found
    nothing lower. falling (R, 2 · _SPAN + 1) float64: F of the last iterations, infinite before them. history: of the
    quasi-Newton methods, without cells until it is needed.
    """

    count: int
    made: ViewRows
    history: History | None
    point: Tensor = replica_field(1)
    scores: Tensor = replica_field(1)
    gradient: Tensor = replica_field(1)
    inverse: Tensor | None = replica_field(1)
    value: Tensor = replica_field()
    start: Tensor = replica_field()
    norm: Tensor = replica_field()
    gap: Tensor = replica_field()
    length: Tensor = replica_field()
    stuck: Tensor = replica_field()
    falling: Tensor = replica_field()


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
        made = view_rows(problem, float_type(problem), merge=self.aim.penalty.smooth)
        objective = self.aim.objective(problem, made)
        point = objective.space.zero(problem.num_classes, made.val.dtype)
        scores = point.new_zeros((sparse(problem).num_docs, *point.shape[1:]))
        value, gradient = objective.smooth(point, scores)
        slopes = objective.slopes(point, gradient)
        norm = replica_dots([(slopes, slopes)])[0].clamp(min=0).sqrt()
        memory = MEMORY.get(self.optimizer)
        state = DescentState(
            count=0,
            made=made,
            history=empty_history(memory, point[:0]) if memory else None,
            point=point,
            scores=scores,
            gradient=gradient,
            inverse=objective.inverse_diagonal(point, scores) if self._scaled and not self._warms_up(point) else None,
            value=value,
            start=norm,
            norm=norm.clone(),
            gap=torch.zeros_like(norm),
            length=torch.zeros_like(norm),
            stuck=torch.zeros_like(norm, dtype=torch.bool),
            falling=torch.full((norm.numel(), 2 * _SPAN + 1), torch.inf, dtype=norm.dtype, device=norm.device),
        )
        return self._measured(objective, state)

    def step(self, problem: Problem, state: DescentState) -> DescentState:
        """One iteration."""
        objective = self.aim.objective(problem, state.made)
        if state.count == 0 and self._warms_up(state.point):
            return self._warm_step(problem, objective, state)
        if state.history is not None and not state.history.steps.numel():
            state = replace(state, history=empty_history(MEMORY[self.optimizer], state.point))
        if self.optimizer == "owlqn":
            point, scores, length = self._orthant_step(objective, state)
            square = None
        else:
            point, scores, length, square = self._line_step(problem, objective, state)
        value, gradient = objective.smooth(point, scores, square)
        history = state.history
        stuck = length == 0
        if history is not None:
            plus_minus = torch.ones((2, length.numel()), dtype=torch.float64, device=length.device)
            plus_minus[1] = -1
            _, change = next_slot(history)
            replica_combination(plus_minus, [gradient, state.gradient], out=change)
            history = remember(history, gradient, state.inverse, replica_dots)
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
        return self._measured(objective, self._rescaled(objective, after))

    def finished(self, problem: Problem, state: DescentState) -> Tensor:
        """Converged, as the module says. A replica that finds no lower point has not."""
        return self.aim.reached(problem, state.norm, state.gap, state.start, self.tol)

    def result(self, problem: Problem, state: DescentState) -> LinearPredictor:
        return LinearPredictor(state.made.expanded(state.point, problem.replicas.view), None)

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

    def _line_step(
        self, problem: Problem, objective: Objective, state: DescentState
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Point, scores, step length and ‖W‖² after a step along a direction that goes down, which history gets to
        know."""
        space = objective.space
        direction = self._direction(objective, state)
        along = space.scores(direction)
        here, there = state.point[1:], direction[1:]
        slope, square, mixed, own = replica_dots(
            [(direction, state.gradient), (here, here), (here, there), (there, there)]
        )
        if self.schedule is not None:
            number = torch.tensor(state.count + 1, device=slope.device)
            length = self.schedule.rates(option(problem, "model.learning_rate", self.learning_rate), number)
        else:

            def function(step: Tensor) -> tuple[Tensor, Tensor]:
                value, rise = objective.loss.along(state.scores, along, step, objective.labels, objective.weights)
                value = value + objective.ridge * (0.5 * square + step * mixed + 0.5 * step * step * own)
                return value, rise + objective.ridge * (mixed + step * own)

            rounding = 1e-13 if state.point.dtype == torch.float64 else 1e-7
            length = wolfe_step(function, state.value, slope, self._first_guess(state, slope), rounding, _FLATTER)
        factors = torch.stack([torch.ones_like(length), length])
        if state.history is not None:
            moved, _ = next_slot(state.history)
            replica_combination(length[None], [direction], out=moved)
        point = replica_combination(factors, [state.point, direction], out=state.point)
        scores = replica_combination(factors, [state.scores, along], out=state.scores)
        return point, scores, length, square + 2 * length * mixed + length * length * own

    def _direction(self, objective: Objective, state: DescentState) -> Tensor:
        space = objective.space
        if self.optimizer == "newton":
            weights, labels = objective.weights, objective.labels

            def hessian(vector: Tensor) -> Tensor:
                bent = objective.loss.curvature(state.scores, space.scores(vector), labels, weights)
                product = space.lift(bent)
                product[1:] += objective.ridge.to(vector.dtype)[:, None] * vector[1:]
                return product

            assert state.inverse is not None
            return newton_direction(hessian, state.gradient, state.inverse, _PRODUCTS, replica_dots)
        if state.history is not None:
            return descent_direction(state.history, state.gradient, state.inverse)
        return -state.gradient

    def _first_guess(self, state: DescentState, slope: Tensor) -> Tensor:
        """1 where the direction knows the curvature; else the last step, somewhat longer, or one of length 1."""
        unit = 1.0 / torch.where(state.norm > 0, state.norm, 1.0)
        if self._scaled:
            return torch.ones_like(slope)
        if state.history is not None:
            known = state.history.usable.any(0)
            return torch.where(known, torch.ones_like(slope), torch.minimum(unit, torch.ones_like(unit)))
        return torch.where(state.length > 0, 2.0 * state.length, unit)

    @property
    def _scaled(self) -> bool:
        """Whether steps are scaled by the diagonal of the Hessian."""
        return self.optimizer in ("lbfgs", "newton")

    def _warms_up(self, point: Tensor) -> bool:
        """Whether the first step is one of dual epochs, which asks for no diagonal."""
        return self.warm_epochs > 0 and has_kernel(point.device)

    def _rescaled(self, objective: Objective, state: DescentState) -> DescentState:
        """With the Hessian's diagonal of now, where it is time to take it again."""
        count = state.count
        soon = count <= _FRESH and count & (count - 1) == 0
        if not self._scaled or not (self.optimizer == "newton" or soon or count % _FRESH == 0):
            return state
        inverse = objective.inverse_diagonal(state.point, state.scores)
        history = state.history
        if history is not None:
            history = rescaled(history, state.gradient, inverse, replica_dots)
        return replace(state, inverse=inverse, history=history)

    def _warm_step(self, problem: Problem, objective: Objective, state: DescentState) -> DescentState:
        """The first step: epochs of dual coordinate descent, instead of one along the gradient at 0."""
        point, gap = self._warmed(problem, state.made)
        scores = objective.space.scores(point)
        value, gradient = objective.smooth(point, scores)
        after = replace(
            state,
            count=1,
            point=point,
            scores=scores,
            gradient=gradient,
            value=value,
            length=torch.ones_like(value),
            falling=torch.full_like(state.falling, torch.inf),
        )
        after = self._measured(objective, self._rescaled(objective, after))
        return replace(after, gap=torch.minimum(after.gap, gap))

    def _warmed(self, problem: Problem, made: ViewRows) -> tuple[Tensor, Tensor]:
        """Weights (width+1, R, K) and duality gap (R,) after each replica's epochs; see the module.

        The gap's fall over the last three epochs tells how many more it takes to get below tol.
        """
        dual = DualDescent(self.aim, self.tol, shuffle=True)
        found = everyone = dual.start(problem, made)
        going = torch.arange(len(problem.replicas))
        gaps: list[Tensor] = []
        for _ in range(_FEWEST_EPOCHS - 1):
            found = dual.epoch(problem, found)
        while going.numel():
            found = dual.step(problem, found)
            gaps.append(found.gap)
            more = (found.gap > self.tol).cpu()
            if found.epoch >= self.warm_epochs and len(gaps) > 3:
                rate = (gaps[-1] / gaps[-4]).log() / 3
                needed = (self.tol / gaps[-1].clamp(min=1e-300)).log() / rate
                more &= ((rate < 0) & (needed < _FURTHER)).cpu()
                more &= found.epoch < _MOST_EPOCHS
            if bool(more.all()):
                continue
            ended, left = torch.nonzero(~more).flatten(), torch.nonzero(more).flatten()
            everyone = put_replicas(everyone, going[ended], take_replicas(found, ended))
            going, found = going[left], take_replicas(found, left)
            gaps = [gap[left.to(gap.device)] for gap in gaps]
            problem = replace(problem, replicas=problem.replicas.take(left))
        return everyone.weights, everyone.gap

    def _orthant_step(self, objective: Objective, state: DescentState) -> tuple[Tensor, Tensor, Tensor]:
        """OWL-QN: a quasi-Newton direction made from the one-sided slopes; halved until F goes down enough."""
        assert state.history is not None
        space = objective.space
        pseudo = pseudo_gradient(state.point, state.gradient, objective.lasso)
        products = replica_dots(
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
            square = replica_dots([(trial[1:], trial[1:])])[0]
            value = value + 0.5 * objective.ridge * square + objective.absolute(trial)
            promised = replica_dots([(trial - state.point, pseudo)])[0]
            good = (taken == 0) & (value <= state.value + 1e-4 * promised) & (promised < 0)
            taken = torch.where(good, step, taken)
            keep = (taken > 0)[:, None]
            point, scores = torch.where(keep, trial, state.point), torch.where(keep, reached, state.scores)
            if bool((taken > 0).all()):
                break
            step = 0.5 * step
        moved, _ = next_slot(state.history)
        torch.sub(point, state.point, out=moved)
        return point, scores, taken

    def _measured(self, objective: Objective, state: DescentState) -> DescentState:
        norm, gap = objective.measure(state.point, state.gradient, state.value, state.inverse)
        falling = torch.cat([state.falling[:, 1:], state.value[:, None]], 1)
        if self.optimizer == "lbfgs":
            gap = torch.minimum(gap, torch.maximum(gap / _FEWER, still_to_fall(falling) / state.value))
        return replace(state, norm=norm, gap=gap, falling=falling)
