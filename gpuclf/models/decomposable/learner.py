"""Decomposable models: a step is a move of every search. See gpuclf.models.decomposable.search for what it does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.advance import ESS, advance, tell, variables_of_track
from gpuclf.models.decomposable.begin import begun_state
from gpuclf.models.decomposable.choice import choose, weights_of
from gpuclf.models.decomposable.kept import kept_factors, predictor_of, stacked_factors
from gpuclf.models.decomposable.parts import parts_of
from gpuclf.models.decomposable.plan import Plan, counted_variables
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.stacking import without_tail
from gpuclf.models.decomposable.state import TOLD, SearchState
from gpuclf.models.decomposable.word_predictor import WordPredictor
from gpuclf.models.learner import Problem


@dataclass(frozen=True)
class Decomposable:
    """The learner; options as in DecomposableOptions."""

    plan: Plan

    def init(self, problem: Problem) -> SearchState:
        """Every search at the graph that it begins with, nothing moved; rivals measured where rows judge models."""
        return begun_state(self.plan, problem)

    def step(self, problem: Problem, state: SearchState) -> SearchState:
        """The best move of every search that has one; a model whose searches have ended is chosen."""
        state = state.merged()
        longer = state.moves.new_full((*state.moves.shape[:2], 1, 2), -1)
        state = replace(
            state,
            moves=torch.cat([state.moves, longer], dim=2),
            measures=torch.cat([state.measures, state.measures[:, :, -1:]], dim=2),
            shares=None if state.shares is None else torch.cat([state.shares, state.shares[:, -1:]], dim=1),
            step=state.step + 1,
        )
        going = torch.nonzero(~state.done)
        if len(going):
            advance(self.plan, problem, state, going)
        alive = going[:, 0].unique()
        tell(state, alive, slice(4, 7))
        for model in alive.tolist():
            if bool(state.done[model].all()):
                choose(self.plan, problem, state, model)
        return state.parted()

    def rechosen(self, problem: Problem, state: SearchState) -> SearchState:
        """A state whose searches have ended, with the model that this learner chooses: rules of choice may share a
        search, where its tracks are the same (cv and stability, select_by, one_standard_error)."""
        state = replace(state, picked=state.picked.clone(), chosen=state.chosen.clone()).merged()
        for model in range(len(state.done)):
            choose(self.plan, problem, state, model)
        return state.parted()

    def finished(self, problem: Problem, state: SearchState) -> Tensor:
        """Whether every search of a replica has no further move."""
        return state.done.flatten(1).all(dim=1)

    def result(self, problem: Problem, state: SearchState) -> DecomposablePredictor | WordPredictor:
        """The chosen model with parameters from all training rows; while a search runs, the model that it has."""
        parts, state = parts_of(problem), state.merged()
        models = [self._made(parts[m % len(parts)], state, m, m // len(parts)) for m in range(len(state.done))]
        if not state.words:
            return DecomposablePredictor.joined(models)
        assert isinstance(problem.rows, WordRows)
        return WordPredictor.of(models, problem.rows.classes, _shares(problem))

    def alternatives(self, problem: Problem, state: SearchState) -> dict[str, DecomposablePredictor]:
        """None."""
        return {}

    def progress(self, problem: Problem, state: SearchState) -> dict[str, Tensor]:
        """Of the first search's last move: gain, G² (or its like), degrees of freedom, log10 p; edges of its graph, and
        how its model does on documents outside of training, where there are any: accuracy, share that it does not
        cover. Of several words: sums, the least p, and shares of all their documents."""
        last = state.last
        if state.words:
            count = state.outside.sum(dim=2, keepdim=True)
            shares = (last[..., 5:] * count).sum(dim=1) / count.sum(dim=1).clamp(min=1)
            p, edges = last[..., 3].amin(dim=1, keepdim=True), last[..., 4].sum(dim=1, keepdim=True)
            last = torch.cat([last[..., :3].sum(dim=1), p, edges, shares], dim=1)
        told = TOLD[:5] if bool(problem.views.train.all()) else TOLD
        return {name: last[:, place].clone() for place, name in enumerate(told)}

    def _made(self, part: Problem, state: SearchState, model: int, replica: int) -> DecomposablePredictor:
        """The predictor of one model."""
        size = int(state.shape[model, 0])
        chosen, adjacent, begun = (
            part[:size, :size] for part in (state.chosen[model], state.adjacent[model, 0], state.begun[model, 0])
        )
        graph = chosen if bool(state.done[model].all()) else adjacent
        variables = variables_of_track(state, model, 0)
        if self.plan.select == "heldout":
            train = part.views.train[int(part.replicas.view[replica])]
            variables = counted_variables(part, replica, train, of_view=True)
        moves = state.moves[model, 0]
        ess = float(part.replicas.options[ESS][replica])
        weights = weights_of(state, model)
        if weights is None:
            kept = kept_factors(self.plan, graph, begun, moves, ess)
        else:
            weights = without_tail(weights)
            kept = stacked_factors(self.plan, state.rival_graphs[model][:size, :size], begun, moves, weights, ess)
        return predictor_of(self.plan, variables, kept, graph, state.measures[model, 0], ess, weights)


def _shares(problem: Problem) -> Tensor:
    """(R, K) float64: log shares of the classes in each replica's training set."""
    labels = problem.labels
    trained = problem.views.train[problem.replicas.view] & (labels >= 0)
    counts = torch.nn.functional.one_hot(labels.clamp(min=0), problem.num_classes).double()
    counted = trained.double() @ counts
    return torch.log(counted / counted.sum(dim=1, keepdim=True).clamp(min=1))
