"""Dual coordinate descent as a learner: joint multi-class SVM and logistic regression with an L2 penalty.

A step is an epoch (gpuclf.ops.dual_epoch). It stops by the duality gap: (primal - dual) ≤ tol · primal, computed from
all rows after every epoch, so that the primal is within tol of its minimum, whatever the scales of the features.

The offset is not penalised. In the dual that would be a constraint on the sum of all documents' duals, which single
coordinates cannot keep; so each epoch has the penalty ½|b - center|² instead, and the next one the offset just found as
its center (proximal point method: it stands still only where the penalty is 0). The gap counts that penalty twice, once
for the dual's sake and once as what separates this problem from the one without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.linear.objective import Aim
from gpuclf.models.linear.online import streams_of
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.replica_rows import float_type, sparse
from gpuclf.models.view_rows import ViewRows, view_rows
from gpuclf.ops.dual_epoch import DualModel, DualRows, dual_epoch
from gpuclf.ops.replica_vectors import replica_dots

_START = 1e-3  # of a document's bound: the first duals of the classes other than its own (Yu, Huang & Lin 2011, 5.1)


@dataclass(frozen=True)
class DualState:
    """After `epoch` epochs, over the matrices `made`. weights (width+1, R, K), row 0 the offset, and duals
    (docs, R, K): see the op; center (1, R, K) of the offset's penalty; primal, dual, gap (R,) float64: of the state,
    gap relative to the primal."""

    epoch: int
    made: ViewRows
    weights: Tensor = replica_field(1)
    duals: Tensor = replica_field(1)
    center: Tensor = replica_field(1)
    primal: Tensor = replica_field()
    dual: Tensor = replica_field()
    gap: Tensor = replica_field()


@dataclass(frozen=True)
class DualDescent:
    """The learner; see the module. C comes per replica, or from here where no grid varies it."""

    aim: Aim
    tol: float
    shuffle: bool

    def init(self, problem: Problem) -> DualState:
        """All weights zero, or next to it for the logistic loss, whose duals are never 0."""
        by_column = self.aim.loss.kind == "logistic"  # its first weights are not 0
        return self.start(problem, view_rows(problem, float_type(problem), merge=True, by_column=by_column))

    def start(self, problem: Problem, made: ViewRows) -> DualState:
        """The first state, over matrices that are there already."""
        replicas, classes = len(problem.replicas), problem.num_classes
        like = torch.zeros((), dtype=made.val.dtype, device=problem.labels.device)
        weights = like.new_zeros((made.width + 1, replicas, classes))
        duals = like.new_zeros((sparse(problem).num_docs, replicas, classes))
        if self.aim.loss.kind == "logistic" and classes > 1:
            weights = self._first_duals(problem, made, duals)
        elif self.aim.loss.kind == "logistic":
            duals[:] = self.aim.bounds(problem)[..., None].to(duals.dtype)
        unknown = torch.ones(replicas, dtype=torch.float64, device=like.device)
        return DualState(
            epoch=0,
            made=made,
            weights=weights,
            duals=duals,
            center=torch.zeros_like(weights[:1]),
            primal=unknown,
            dual=torch.zeros_like(unknown),
            gap=unknown.clone(),
        )

    def step(self, problem: Problem, state: DualState) -> DualState:
        """One epoch. The old state's weights and duals are reused."""
        after = self.epoch(problem, state)
        primal, dual, beside = self._objectives(problem, after, self.aim.bounds(problem))
        gap = (primal + beside - dual).clamp(min=0) / torch.where(primal > 0, primal, 1.0)
        return replace(after, primal=primal, dual=dual, gap=gap)

    def epoch(self, problem: Problem, state: DualState) -> DualState:
        """A step without the look at all rows that tells primal, dual and gap, which stay those of before."""
        made = state.made
        bounds, cost = self.aim.bounds(problem), self._cost(problem)
        center = state.weights[:1].clone() if state.epoch else state.center
        if state.epoch:  # around a new center, the same duals have another offset
            state.weights[:1] += center - state.center
        streams = streams_of(problem, state.epoch, self.shuffle)
        edges = streams.start.tolist()
        for g, view in enumerate(streams.view.tolist()):
            part = slice(edges[g], edges[g + 1])
            order = streams.order[g][streams.order[g] >= 0]
            model = DualModel(state.weights[:, part], state.duals[:, part])
            rows = DualRows(made.crow[view], made.col, made.val, problem.labels, None, None)
            dual_epoch(self.aim.loss.kind, rows, order, view, bounds[:, part], cost, self.aim.offset, model)
        return replace(state, epoch=state.epoch + 1, center=center)

    def finished(self, problem: Problem, state: DualState) -> Tensor:
        return state.gap <= self.tol if state.epoch else torch.zeros_like(state.gap, dtype=torch.bool)

    def result(self, problem: Problem, state: DualState) -> LinearPredictor:
        return LinearPredictor(state.made.expanded(state.weights, problem.replicas.view), None)

    def alternatives(self, problem: Problem, state: DualState) -> dict[str, LinearPredictor]:
        return {}

    def progress(self, problem: Problem, state: DualState) -> dict[str, Tensor]:
        """The primal objective, the dual one below it, and their distance relative to the primal."""
        return {"objective": state.primal, "dual_objective": state.dual, "duality_gap": state.gap}

    def _objectives(self, problem: Problem, state: DualState, bounds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Primal, dual of the problem with the offset's penalty, and twice that penalty, each (R,)."""
        weights = state.weights
        space = self.aim.objective(problem, state.made).space
        losses, _ = self.aim.loss.value_and_gradient(space.scores(weights), problem.labels, bounds)
        moved = weights[:1] - state.center
        square, away, along = replica_dots([(weights[1:], weights[1:]), (moved, moved), (moved, state.center)])
        conjugate = self._conjugate(problem, state.duals, bounds)
        return losses + 0.5 * square, conjugate - 0.5 * square - 0.5 * away - along, away

    def _conjugate(self, problem: Problem, duals: Tensor, bounds: Tensor) -> Tensor:
        """What the dual gains from the losses: -Σ a_nk c(y_n, k), or the entropy -Σ p_nk log(p_nk / bound_n)."""
        if self.aim.loss.kind == "logistic":
            bound = torch.where(bounds > 0, bounds, 1.0)[..., None]
            parts = torch.special.entr(duals.double() / bound) * bound
            parts = torch.where(bounds[..., None] > 0, parts, 0.0)
            return replica_dots([(parts, torch.ones_like(parts))])[0]
        cost = self._cost(problem)
        if cost is None:
            classes = problem.num_classes
            cost = torch.ones((classes, classes), dtype=torch.float64, device=duals.device)
        cost = cost.clone().fill_diagonal_(0.0)
        charged = cost[problem.labels.clamp(min=0)][:, None].expand(duals.shape).contiguous()
        return -replica_dots([(duals, charged)])[0]

    def _first_duals(self, problem: Problem, made: ViewRows, duals: Tensor) -> Tensor:
        """Fills p_nk = _START · bound / (K - 1) for the other classes; the weights that belong to them."""
        bounds = self.aim.bounds(problem)
        gold = problem.labels.clamp(min=0)[:, None, None].expand(*bounds.shape, 1)
        share = torch.full((*bounds.shape, duals.shape[2]), _START / (duals.shape[2] - 1), dtype=torch.float64)
        share = share.to(duals.device).scatter_(2, gold, 1.0 - _START)
        duals[:] = (share * bounds[..., None]).to(duals.dtype)
        own = torch.zeros_like(duals).scatter_(2, gold, bounds[..., None].to(duals.dtype))
        return self.aim.objective(problem, made).space.lift(own - duals)

    def _cost(self, problem: Problem) -> Tensor | None:
        cost = self.aim.loss.cost
        return None if cost is None else torch.tensor(cost, dtype=torch.float64, device=problem.labels.device)
