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
from gpuclf.models.linear.objective import Aim, float_type
from gpuclf.models.linear.online import streams_of
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.linear.spaces import WeightSpace
from gpuclf.models.linear.training_rows import spans_of, sparse
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.dual_epoch import DualModel, DualRows, dual_epoch
from gpuclf.ops.replica_vectors import replica_dots
from gpuclf.ops.sparse_gradient import Columns, columns_of, sparse_gradient

_START = 1e-3  # of a document's bound: the first duals of the classes other than its own (Yu, Huang & Lin 2011, 5.1)


@dataclass(frozen=True)
class DualState:
    """After `epoch` epochs. weights (V+1, R, K), row 0 the offset, and duals (docs, R, K): see the op; center (1, R, K)
    of the offset's penalty; primal, dual, gap (R,) float64: of the state, gap relative to the primal."""

    epoch: int
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
        rows = sparse(problem)
        replicas, classes = len(problem.replicas), problem.num_classes
        like = torch.zeros((), dtype=float_type(problem), device=problem.labels.device)
        weights = like.new_zeros((rows.num_features + 1, replicas, classes))
        duals = like.new_zeros((rows.num_docs, replicas, classes))
        if self.aim.loss.kind == "logistic" and classes > 1:
            self._first_duals(problem, weights, duals)
        elif self.aim.loss.kind == "logistic":
            duals[:] = self.aim.bounds(problem)[..., None].to(duals.dtype)
        unknown = torch.ones(replicas, dtype=torch.float64, device=like.device)
        return DualState(
            epoch=0,
            weights=weights,
            duals=duals,
            center=torch.zeros_like(weights[:1]),
            primal=unknown,
            dual=torch.zeros_like(unknown),
            gap=unknown.clone(),
        )

    def step(self, problem: Problem, state: DualState) -> DualState:
        """One epoch. The old state's weights and duals are reused."""
        rows, views = sparse(problem), problem.views
        bounds, cost = self.aim.bounds(problem), self._cost(problem)
        scaled = DualRows(rows.crow, rows.col, rows.val, problem.labels, views.col_scale, views.row_scale)
        center = state.weights[:1].clone() if state.epoch else state.center
        if state.epoch:  # around a new center, the same duals have another offset
            state.weights[:1] += center - state.center
        streams = streams_of(problem, state.epoch, self.shuffle)
        edges = streams.start.tolist()
        for g, view in enumerate(streams.view.tolist()):
            part = slice(edges[g], edges[g + 1])
            order = streams.order[g][streams.order[g] >= 0]
            model = DualModel(state.weights[:, part], state.duals[:, part])
            dual_epoch(self.aim.loss.kind, scaled, order, view, bounds[:, part], cost, self.aim.offset, model)
        primal, dual, beside = self._objectives(problem, replace(state, center=center), bounds)
        gap = (primal + beside - dual).clamp(min=0) / torch.where(primal > 0, primal, 1.0)
        return replace(state, epoch=state.epoch + 1, center=center, primal=primal, dual=dual, gap=gap)

    def finished(self, problem: Problem, state: DualState) -> Tensor:
        return state.gap <= self.tol if state.epoch else torch.zeros_like(state.gap, dtype=torch.bool)

    def result(self, problem: Problem, state: DualState) -> LinearPredictor:
        return LinearPredictor(state.weights.to(torch.float32, copy=True), None)

    def alternatives(self, problem: Problem, state: DualState) -> dict[str, LinearPredictor]:
        return {}

    def progress(self, problem: Problem, state: DualState) -> dict[str, Tensor]:
        """The primal objective, the dual one below it, and their distance relative to the primal."""
        return {"objective": state.primal, "dual_objective": state.dual, "duality_gap": state.gap}

    def residuals(self, problem: Problem, state: DualState) -> Tensor:
        """A (docs, R, K) with weights[1:] = XᵀA, for the logistic loss."""
        assert self.aim.loss.kind == "logistic"
        return _own(problem, self.aim.bounds(problem), state.duals) - state.duals

    def _objectives(self, problem: Problem, state: DualState, bounds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Primal, dual of the problem with the offset's penalty, and twice that penalty, each (R,)."""
        rows, weights = sparse(problem), state.weights
        columns = Columns(rows.crow, rows.col, rows.val)  # not read for scores
        space = WeightSpace(rows, columns, spans_of(problem), self.aim.offset)
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

    def _first_duals(self, problem: Problem, weights: Tensor, duals: Tensor) -> None:
        """p_nk = _START · bound / (K - 1) for the other classes, and the weights that belong to them."""
        rows, bounds = sparse(problem), self.aim.bounds(problem)
        gold = problem.labels.clamp(min=0)[:, None, None].expand(*bounds.shape, 1)
        share = torch.full((*bounds.shape, duals.shape[2]), _START / (duals.shape[2] - 1), dtype=torch.float64)
        share = share.to(duals.device).scatter_(2, gold, 1.0 - _START)
        duals[:] = (share * bounds[..., None]).to(duals.dtype)
        own = _own(problem, bounds, duals)
        columns = columns_of(rows.crow, rows.col, rows.val, rows.num_features)
        for span in spans_of(problem):
            part = span.replicas
            pull = own[:, part] - duals[:, part]
            sparse_gradient(columns, span.col_scale, span.row_scale, pull.contiguous(), weights[:, part])
        if not self.aim.offset:
            weights[0] = 0

    def _cost(self, problem: Problem) -> Tensor | None:
        cost = self.aim.loss.cost
        return None if cost is None else torch.tensor(cost, dtype=torch.float64, device=problem.labels.device)


def _own(problem: Problem, bounds: Tensor, like: Tensor) -> Tensor:
    """(docs, R, K): the bound at the gold class, else 0."""
    gold = problem.labels.clamp(min=0)[:, None, None].expand(*bounds.shape, 1)
    return torch.zeros_like(like).scatter_(2, gold, bounds[..., None].to(like.dtype))
