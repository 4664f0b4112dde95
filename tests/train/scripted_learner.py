"""A learner whose figures are written down beforehand: the loop is tested without any learning."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.rows import Rows, SparseRows, Views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.replica_axis import replica_field


@dataclass(frozen=True)
class ScriptedPredictor:
    """`value` (R,) is the step at which the replica's result was taken."""

    value: Tensor = replica_field()

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        del rows, col_scale, row_scale
        return self.value[replicas or slice(None)].reshape(-1, 1, 1).expand(-1, len(docs), 2)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        del rows, col_scale, row_scale
        return torch.zeros(len(self.value), len(docs), dtype=torch.bool)


@dataclass(frozen=True)
class ScriptedState:
    name: Tensor = replica_field()  # (R,) which replica of the batch it is
    step: int = 0


class ScriptedLearner:
    """loss (R, steps) is reported step by step; replica r finishes by itself after ends[r] steps.

    `worked` notes the replicas that each step still worked on.
    """

    def __init__(self, loss: list[list[float]], ends: list[int]):
        self._loss, self._ends = torch.tensor(loss, dtype=torch.float64), torch.tensor(ends)
        self.worked: list[list[int]] = []

    def init(self, problem: Problem) -> ScriptedState:
        return ScriptedState(torch.arange(len(problem.replicas)))

    def step(self, problem: Problem, state: ScriptedState) -> ScriptedState:
        assert len(problem.replicas) == len(state.name), "problem and state hold the same replicas"
        self.worked.append(state.name.tolist())
        return replace(state, step=state.step + 1)

    def finished(self, problem: Problem, state: ScriptedState) -> Tensor:
        del problem
        return self._ends[state.name] <= state.step

    def result(self, problem: Problem, state: ScriptedState) -> ScriptedPredictor:
        del problem
        return ScriptedPredictor(torch.full((len(state.name),), float(state.step)))

    def alternatives(self, problem: Problem, state: ScriptedState) -> dict[str, ScriptedPredictor]:
        return {"twice": ScriptedPredictor(2 * self.result(problem, state).value)}

    def progress(self, problem: Problem, state: ScriptedState) -> dict[str, Tensor]:
        del problem
        return {"loss": self._loss[state.name, state.step - 1]}


class ScriptedHeldOut:
    """Held-out accuracy (replicas by seed, steps), looked up by the step at which a predictor was made."""

    def __init__(self, accuracy: list[list[float]]):
        self._accuracy = torch.tensor(accuracy, dtype=torch.float64)
        self.seen: list[list[int]] = []

    def metrics(self, predictor: ScriptedPredictor, replicas: Replicas) -> dict[str, Tensor]:
        self.seen.append(replicas.seed.tolist())
        return {"accuracy": self._accuracy[replicas.seed, predictor.value.long() - 1]}


def scripted_problem(replicas: int) -> Problem:
    rows = SparseRows(torch.zeros(3, dtype=torch.int64), torch.zeros(0, dtype=torch.int32), torch.zeros(0), 1)
    views = Views(torch.tensor([[True, False]]), torch.ones(1, 2), torch.ones(1, 2))
    everyone = Replicas(torch.zeros(replicas, dtype=torch.int64), torch.arange(replicas))
    return Problem(rows, torch.tensor([0, 1]), torch.tensor([5, 6]), 2, views, everyone)
