"""L-BFGS for linear-chain conditional random fields, all replicas in lockstep, each with steps of its own.

A replica has converged when F is at most tol · F above its minimum, by the estimate in `_measured`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.replica_rows import float_type, option
from gpuclf.models.sequence.chain_objective import ChainObjective
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.models.sequence.decoding import Decode
from gpuclf.models.view_rows import ViewRows, view_rows
from gpuclf.ops.chain_sums import ChainSums
from gpuclf.ops.replica_vectors import replica_combination, replica_dots
from gpuclf.ops.sparse_gradient import Columns
from gpuclf.optim.lbfgs import History, descent_direction, empty_history, forget, next_slot, remember, rescaled
from gpuclf.optim.line_search import wolfe_step

MEMORY = 6  # steps that L-BFGS remembers
_SLACK = 3.0  # how far the estimate with the diagonal of the Hessian is corrected
_FRESH = 16  # iterations after which the Hessian's diagonal is taken anew; the first ones come sooner


class Descended(Protocol):
    """An objective over points (M, R, K) whose rows from the second on are penalised; see ChainObjective's methods.

    Scores of points, `nodes` and `moves`, are linear in them and have the replicas on axes 1 and 0.
    """

    def nodes(self, point: Tensor) -> Tensor: ...

    def moves(self, point: Tensor) -> Tensor: ...

    def sums(self, nodes: Tensor, moves: Tensor, replicas: Tensor | None = None) -> ChainSums: ...

    def normaliser(self, sums: ChainSums) -> Tensor:
        """The first part of the loss, (R,) float64: weighted logarithms of sums over label sequences."""
        ...

    def gold(self, nodes: Tensor, moves: Tensor) -> Tensor:
        """What the loss subtracts, (R,) float64: weighted scores of the labels, linear in nodes and moves."""
        ...

    def value_and_gradient(self, point: Tensor, sums: ChainSums, nodes: Tensor) -> tuple[Tensor, Tensor]: ...

    def inverse_diagonal(self, sums: ChainSums) -> Tensor: ...


@dataclass(frozen=True)
class ChainState:
    """After `count` iterations, over the tokens by feature, or the matrices of the views (`made`). point, gradient,
    inverse (width+1+K, R, K): see gpuclf.models.sequence.chain_objective; nodes (tokens, R, K): scores of the point.

    value, gap, length (R,) float64: F; relative estimate of F above its minimum; the last step along its direction.
    """

    count: int
    made: Columns | ViewRows
    history: History
    point: Tensor = replica_field(1)
    nodes: Tensor = replica_field(1)
    gradient: Tensor = replica_field(1)
    inverse: Tensor = replica_field(1)
    value: Tensor = replica_field()
    gap: Tensor = replica_field()
    length: Tensor = replica_field()


@dataclass(frozen=True)
class ChainDescent:
    """The learner; see the module. C and recall_penalty, which decode: mbr needs, come per replica, or from here where
    no grid varies them; none: the label whose errors it is for."""

    C: float
    tol: float
    decode: Decode
    recall_penalty: float = 1.0
    none: int = 0

    def init(self, problem: Problem) -> ChainState:
        """All weights zero."""
        dtype = float_type(problem)
        made = view_rows(problem, dtype, merge=True)
        objective = ChainObjective.of(problem, made, self.C)
        return started(objective, made, objective.zero(problem.num_classes, dtype))

    def step(self, problem: Problem, state: ChainState) -> ChainState:
        """One iteration of L-BFGS."""
        return descended(ChainObjective.of(problem, _views(state), self.C), state)

    def finished(self, problem: Problem, state: ChainState) -> Tensor:
        """Converged, as the module says. A replica that finds no lower point has not."""
        return state.gap <= self.tol

    def result(self, problem: Problem, state: ChainState) -> ChainPredictor:
        made = _views(state)
        weights, moves = state.point[: made.width + 1], state.point[made.width + 1 :].permute(1, 0, 2)
        penalty = option(problem, "model.recall_penalty", self.recall_penalty) if self.decode == "mbr" else None
        return ChainPredictor(
            weights=made.expanded(weights, problem.replicas.view),
            transition=moves.float().contiguous(),
            decode=self.decode,
            none=self.none,
            recall_penalty=None if penalty is None else penalty.clone(),
        )

    def alternatives(self, problem: Problem, state: ChainState) -> dict[str, ChainPredictor]:
        return {}

    def progress(self, problem: Problem, state: ChainState) -> dict[str, Tensor]:
        """F, the estimate of its relative distance from the minimum, and the step."""
        return {"objective": state.value, "gap": state.gap, "step_size": state.length}


def _views(state: ChainState) -> ViewRows:
    assert isinstance(state.made, ViewRows), "a chain is learnt on the matrices of its views"
    return state.made


def started(objective: Descended, made: Columns | ViewRows, point: Tensor) -> ChainState:
    """The state at a point from which an objective is to be minimised, with no memory of steps."""
    nodes = objective.nodes(point)
    sums = objective.sums(nodes, objective.moves(point))
    value, gradient = objective.value_and_gradient(point, sums, nodes)
    state = ChainState(
        count=0,
        made=made,
        history=empty_history(MEMORY, point),
        point=point,
        nodes=nodes,
        gradient=gradient,
        inverse=objective.inverse_diagonal(sums),
        value=value,
        gap=torch.zeros_like(value),
        length=torch.zeros_like(value),
    )
    return _measured(state)


def descended(objective: Descended, state: ChainState) -> ChainState:
    """One iteration: a quasi-Newton direction, a Wolfe step along it, and what it taught."""
    direction = descent_direction(state.history, state.gradient, state.inverse)
    search = _Line(objective, state, direction)
    slope = replica_dots([(direction, state.gradient)])[0]
    rounding = 1e-13 if state.point.dtype == torch.float64 else 1e-7
    length = wolfe_step(search, state.value, slope, torch.ones_like(slope), rounding)
    moved, change = next_slot(state.history)
    replica_combination(length[None], [direction], out=moved)
    point = state.point + moved
    nodes, sums = search.at(length)
    value, gradient = objective.value_and_gradient(point, sums, nodes)
    torch.sub(gradient, state.gradient, out=change)
    history = forget(remember(state.history, gradient, state.inverse, replica_dots), length == 0)
    after = replace(
        state,
        count=state.count + 1,
        history=history,
        point=point,
        nodes=nodes,
        gradient=gradient,
        value=value,
        length=length,
    )
    return _measured(_rescaled(objective, after, sums))


class _Line:
    """F along a direction as a function of the step (R,). Scores and sums of a replica are made anew only where its
    step changes."""

    def __init__(self, objective: Descended, state: ChainState, direction: Tensor):
        self._objective, self._state = objective, state
        self._along, self._turn = objective.nodes(direction), objective.moves(direction)
        here, there = state.point[1:], direction[1:]
        self._square, self._mixed, self._own = replica_dots([(here, here), (here, there), (there, there)])
        self._moves = objective.moves(state.point)
        self._gold, self._rise = objective.gold(state.nodes, self._moves), objective.gold(self._along, self._turn)
        self._step = torch.full_like(state.value, torch.nan)

    def __call__(self, step: Tensor) -> tuple[Tensor, Tensor]:
        """Value and slope, each (R,) float64; of a replica that has ended its search, at step 0, any."""
        step = torch.where((step == 0) & ~self._step.isnan(), self._step, step)
        _, sums = self.at(step)
        slope = replica_dots([(sums.probability, self._along)])[0] + (sums.pairs * self._turn).sum((1, 2)) - self._rise
        value = self._objective.normaliser(sums) - self._gold - step * self._rise
        value = value + 0.5 * self._square + step * self._mixed + 0.5 * step * step * self._own
        return value, slope + self._mixed + step * self._own

    def at(self, step: Tensor) -> tuple[Tensor, ChainSums]:
        """Scores (tokens, R, K) and sums at a step."""
        new = torch.nonzero(step != self._step).flatten()
        if new.numel() == step.numel():
            self._nodes, self._sums = self._made(step, slice(None))
        elif new.numel():
            nodes, sums = self._made(step, new)
            self._nodes[:, new], self._sums.probability[:, new] = nodes, sums.probability
            self._sums.log_norm[:, new], self._sums.pairs[new] = sums.log_norm, sums.pairs
        self._step = step.clone()
        return self._nodes, self._sums

    def _made(self, step: Tensor, which: Tensor | slice) -> tuple[Tensor, ChainSums]:
        """Scores and sums of some replicas."""
        own = step[which]
        factors = torch.stack([torch.ones_like(own), own])
        nodes = replica_combination(factors, [self._state.nodes[:, which], self._along[:, which]])
        moves = self._moves[which] + own[:, None, None] * self._turn[which]
        return nodes, self._objective.sums(nodes, moves, None if isinstance(which, slice) else which)


def _rescaled(objective: Descended, state: ChainState, sums: ChainSums) -> ChainState:
    """With the Hessian's diagonal of now, where it is time to take it again."""
    count = state.count
    if not ((count <= _FRESH and count & (count - 1) == 0) or count % _FRESH == 0):
        return state
    inverse = objective.inverse_diagonal(sums)
    return replace(state, inverse=inverse, history=rescaled(state.history, state.gradient, inverse, replica_dots))


def _measured(state: ChainState) -> ChainState:
    """With the estimate of how far F is above its minimum: at most ‖∇F‖²/2, and nearly ∇F · H⁻¹∇F / 2."""
    slopes = state.gradient
    square, near = replica_dots([(slopes, slopes), (slopes, slopes, state.inverse)]).clamp(min=0)
    above = torch.minimum(square, _SLACK * near) / 2
    return replace(state, gap=torch.where(square > 0, above / state.value, 0.0))
