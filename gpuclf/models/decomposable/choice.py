"""Which model a finished search ends with: a graph of its sequence, a rival, what is stable of it, or a stack."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.models.decomposable.advance import ESS, graph_scores, option, variables_of_track
from gpuclf.models.decomposable.graph import CLASS, naive_bayes_graph
from gpuclf.models.decomposable.plan import FOLDED, Plan
from gpuclf.models.decomposable.selection import (
    NAIVE_BAYES,
    STABLE,
    TREE_AUGMENTED,
    Measure,
    edges_along,
    measured,
    pick,
    replay,
)
from gpuclf.models.decomposable.stability import stable_graph
from gpuclf.models.decomposable.stacking import stack_weights
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.learner import Problem


def choose(plan: Plan, problem: Problem, state: SearchState, model: int) -> None:
    """Notes the final graph of a model whose searches have ended, in a merged state."""
    made = int((state.moves[model, 0, :, 0] >= 0).sum())
    weights = weights_of(state, model)
    if weights is not None:
        _take(state, model, (NAIVE_BAYES, TREE_AUGMENTED, *range(made + 1))[int(weights.argmax())])
        return
    if plan.select == "criterion":
        state.picked[model], state.chosen[model] = made, state.adjacent[model, 0]
        return
    judges = list(range(1, state.measures.shape[1])) if plan.select in FOLDED else [0]
    size = int(state.shape[model, 0])
    begun, moves = state.begun[model, 0, :size, :size], state.moves[model, 0]
    stable = None
    if plan.select == "stability":
        stable = stable_graph(begun, moves, state.adjacent[model, judges, :size, :size], plan.stable_share)
        ess = float(option(problem, state, ESS)[model])
        sequence, edges = _judged(state, model, judges, stable, ess), [int(stable.sum()) // 2]
    else:
        sequence = state.measures[model, judges, : made + 1].sum(0)
        edges = edges_along(begun, moves[:made])
    rival_edges = [len(begun) - 1, int(state.rival_graphs[model].sum()) // 2]
    rows = int(state.judged[model].sum())
    rivals = state.rivals[model, judges].sum(0)
    place = pick(sequence, edges, rivals, rival_edges, rows, plan.select_by, plan.near)
    _take(state, model, place, stable)


def weights_of(state: SearchState, model: int) -> Tensor | None:
    """(2 + S,) float64 of naive Bayes, the tree-augmented one and the sequence; None where nothing is stacked."""
    if state.shares is None:
        return None
    made = int((state.moves[model, 0, :, 0] >= 0).sum())
    return stack_weights(state.shares[model, : 3 + made, state.judged[model, 0]])


def _judged(state: SearchState, model: int, judges: Sequence[int], graph: Tensor, ess: float) -> Tensor:
    """(1, 4) float64 (see Measure): a graph with the parameters of each of the tracks, on the rows that judge."""
    total = torch.zeros(1, len(Measure), dtype=torch.float64, device=graph.device)
    for track in judges:
        variables = variables_of_track(state, model, track)
        scores = graph_scores(state, model, track, variables, graph, ess, leave_out=False)
        labels = state.codes[model, track, CLASS].long()
        total += measured(scores, labels, state.prior[model, track], state.judged[model, track])
    return total


def _take(state: SearchState, model: int, place: int, stable: Tensor | None = None) -> None:
    """The final graph: of the sequence, or a rival's; the stable one (V, V) in place of any of the sequence."""
    size = int(state.shape[model, 0])
    begun = state.begun[model, 0, :size, :size]
    graphs = {
        NAIVE_BAYES: naive_bayes_graph(size, begun.device),
        TREE_AUGMENTED: state.rival_graphs[model, :size, :size],
    }
    if stable is not None and place not in graphs:
        place, graphs[STABLE] = STABLE, stable
    state.picked[model] = place
    chosen = graphs.get(place, replay(begun, state.moves[model, 0], max(place, 0)))
    state.chosen[model, :size, :size] = chosen
