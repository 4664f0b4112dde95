"""Stochastic gradient descent and AdaGrad as learners, on any loss with any penalty (Eisenstein 2018, section 2.6).

A step is an epoch (gpuclf.ops.stochastic_epoch), after which the objective is taken over all rows. An update goes down
F divided by the summed weights C · c_n of the replica's documents: a mean loss + ridge'/2 · ‖W‖² + lasso' · ‖W‖₁, so
that learning rates mean the same for every C and size. Converged means for smooth losses what it means for the methods
that see all rows (gpuclf.models.linear.descent); for the others, whose gradient does not vanish at the minimum,
that an epoch changed the weights by at most `tol`, relatively.

Averaged (Polyak & Juditsky 1992; Eisenstein 2018, section 2.3.2), the model is the mean of the weights after every
document seen, from the first epoch on: the documents of an update count as if each had the weights that it left. All
figures and the end of training are then those of the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.linear.objective import Aim, Objective
from gpuclf.models.linear.online import streams_of
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.replica_rows import float_type, option, sparse
from gpuclf.ops.replica_vectors import replica_dots
from gpuclf.ops.sparse_gradient import Columns, columns_of
from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule, stochastic_epoch
from gpuclf.optim.schedules import Schedule


@dataclass(frozen=True)
class StochasticState:
    """After `epoch` epochs. weights (V+1, R, K); squares of the gradients (AdaGrad); sums (V+1, R, K) float64 of the
    weights after every document (averages); updates, seen (R,) int64: updates made and documents seen so far;
    value, start, norm, gap, change (R,) float64: F, norms of its slopes at 0 and now, the bound on F above its
    minimum, and the relative change of the model in the last epoch."""

    epoch: int
    columns: Columns
    weights: Tensor = replica_field(1)
    squares: Tensor | None = replica_field(1)
    sums: Tensor | None = replica_field(1)
    updates: Tensor = replica_field()
    seen: Tensor = replica_field()
    value: Tensor = replica_field()
    start: Tensor = replica_field()
    norm: Tensor = replica_field()
    gap: Tensor = replica_field()
    change: Tensor = replica_field()


@dataclass(frozen=True)
class StochasticDescent:
    """The learner; see the module. The learning rate comes per replica, or from here where no grid varies it."""

    aim: Aim
    adaptive: bool
    schedule: Schedule
    learning_rate: float
    tol: float
    batch: int
    shuffle: bool
    average: bool = False

    def init(self, problem: Problem) -> StochasticState:
        """All weights zero."""
        rows = sparse(problem)
        columns = columns_of(rows.crow, rows.col, rows.val, rows.num_features)
        objective = self.aim.objective(problem, columns)
        weights = objective.space.zero(problem.num_classes, float_type(problem))
        value, norm, gap = _measured(objective, weights)
        return StochasticState(
            epoch=0,
            columns=columns,
            weights=weights,
            squares=torch.zeros_like(weights) if self.adaptive else None,
            sums=torch.zeros_like(weights, dtype=torch.float64) if self.average else None,
            updates=torch.zeros(len(problem.replicas), dtype=torch.int64, device=weights.device),
            seen=torch.zeros(len(problem.replicas), dtype=torch.int64, device=weights.device),
            value=value,
            start=norm,
            norm=norm.clone(),
            gap=gap,
            change=torch.ones_like(norm),
        )

    def step(self, problem: Problem, state: StochasticState) -> StochasticState:
        """One epoch. The old state's weights, squares and sums are reused."""
        rows, views = sparse(problem), problem.views
        objective = self.aim.objective(problem, state.columns)
        before = None if self.aim.loss.smooth else _mean(state).clone()
        rate = option(problem, "model.learning_rate", self.learning_rate)
        streams = streams_of(problem, state.epoch, self.shuffle)
        edges = streams.start.tolist()
        updates, seen = state.updates.clone(), state.seen.clone()
        for g, view in enumerate(streams.view.tolist()):
            part = slice(edges[g], edges[g + 1])
            order = streams.order[g][streams.order[g] >= 0]
            number = -(-order.numel() // self.batch)
            if not number:
                continue
            counts, ridge, lasso = _mean_scale(objective, part, order)
            times = torch.arange(1, number + 1, device=order.device)[:, None] + state.updates[part]
            rule = StochasticRule(
                kind=self.aim.loss.kind,
                cost=self.aim.loss.costs(order.device),
                rates=self.schedule.rates(rate[part], times),
                ridge=ridge,
                lasso=lasso,
                adaptive=self.adaptive,
                offset=self.aim.offset,
            )
            portion = Portion(
                rows.crow, rows.col, rows.val, problem.labels,
                None if views.col_scale is None else views.col_scale[view],
                None if views.row_scale is None else views.row_scale[view],
                counts, order, self.batch,
            )  # fmt: skip
            squares = None if state.squares is None else state.squares[:, part]
            sums = None if state.sums is None else state.sums[:, part]
            stochastic_epoch(portion, rule, StochasticModel(state.weights[:, part], squares, sums))
            updates[part] += number
            seen[part] += order.numel()
        state = replace(state, epoch=state.epoch + 1, updates=updates, seen=seen)
        mean = _mean(state)
        value, norm, gap = _measured(objective, mean)
        change = state.change if before is None else _change(before, mean)
        return replace(state, value=value, norm=norm, gap=gap, change=change)

    def finished(self, problem: Problem, state: StochasticState) -> Tensor:
        if not state.epoch:
            return torch.zeros_like(state.norm, dtype=torch.bool)
        if not self.aim.loss.smooth:
            return state.change <= self.tol
        return self.aim.reached(problem, state.norm, state.gap, state.start, self.tol)

    def result(self, problem: Problem, state: StochasticState) -> LinearPredictor:
        """The mean of the weights, or the last ones without averaging."""
        return LinearPredictor(_mean(state).to(torch.float32, copy=True), None)

    def alternatives(self, problem: Problem, state: StochasticState) -> dict[str, LinearPredictor]:
        """The last weights beside their mean."""
        return {"final": LinearPredictor(state.weights.to(torch.float32, copy=True), None)} if self.average else {}

    def progress(self, problem: Problem, state: StochasticState) -> dict[str, Tensor]:
        """F and how far from its minimum; for losses with kinks the change of the weights instead; and sparsity."""
        figures = {"objective": state.value}
        if not self.aim.loss.smooth:
            figures["change"] = state.change
        else:
            figures["gradient_norm"] = state.norm / torch.where(state.start > 0, state.start, 1.0)
            if self.aim.penalty.kind in ("l2", "elasticnet"):
                figures["gap"] = state.gap
        if not self.aim.penalty.smooth:
            figures["nonzeros"] = (_mean(state)[1:] != 0).sum((0, 2))
        return figures


def _mean(state: StochasticState) -> Tensor:
    """What the model is: the weights, or their mean over the documents seen, in their type."""
    if state.sums is None:
        return state.weights
    return (state.sums / state.seen.clamp(min=1)[:, None]).to(state.weights.dtype)


def _mean_scale(objective: Objective, part: slice, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of the losses (docs, R) with mean 1 over the documents, and ridge and lasso (R,) on the same scale."""
    bounds = objective.weights[:, part]
    whole = bounds.contiguous()[order.sort().values][..., None]
    total = replica_dots([(whole, torch.ones_like(whole))])[0]
    return bounds * (order.numel() / total), objective.ridge[part] / total, objective.lasso[part] / total


def _measured(objective: Objective, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """F, the norm of its slopes, and the bound on F above its minimum."""
    value, gradient = objective.smooth(weights, objective.space.scores(weights))
    value = value + objective.absolute(weights)
    return value, *objective.measure(weights, gradient, value)


def _change(before: Tensor, after: Tensor) -> Tensor:
    """|after - before| / |after| (R,), 0 where nothing moved."""
    moved = after - before
    far, length = replica_dots([(moved, moved), (after, after)])
    return torch.where(far == 0, 0.0, torch.sqrt(far / length))
