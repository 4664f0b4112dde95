"""The state of searches before their first move: what each is counted on, its first graph, and its rivals' figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.advance import add_graph, graph_scores, note, scores_of, searches_of
from gpuclf.models.decomposable.graph import CLASS, junction_forest, naive_bayes_graph, tan_graph, tree_graph
from gpuclf.models.decomposable.parts import parts_of
from gpuclf.models.decomposable.plan import Plan, Track, edge_masks, track_variables, tracks_of
from gpuclf.models.decomposable.search import FIGURES, begun_figures, first_figures, run_each
from gpuclf.models.decomposable.selection import Measure
from gpuclf.models.decomposable.state import TOLD, SearchState
from gpuclf.models.decomposable.variables import Variables, num_inputs
from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import padded_like


def begun_state(plan: Plan, problem: Problem) -> SearchState:
    """Every search at the graph that it begins with, nothing moved; rivals measured where rows judge models."""
    parts, of_words = parts_of(problem), isinstance(problem.rows, WordRows)
    models, device = len(problem.replicas) * len(parts), problem.labels.device
    for part in parts:
        num_inputs(part.rows, part.num_classes)  # refuses too many
    tracks = [tracks_of(plan, parts[m % len(parts)], m // len(parts), of_words) for m in range(models)]
    kept = _counted(plan, parts, tracks)
    shape = [(len(own[0].levels), own[0].labels.numel(), int(own[0].num_values[CLASS])) for own in kept]
    size, docs, classes = (max(column) for column in zip(*shape, strict=True))
    many = (models, len(tracks[0]))

    def stacked(name: str, fill: float = 0) -> Tensor:
        found = padded_like([getattr(variables, name) for own in kept for variables in own], fill)
        return torch.stack(found).unflatten(0, many)

    judged = padded_like([track.judged for own in tracks for track in own], 0)
    outside = [_outside(parts[m % len(parts)], m // len(parts)) for m in range(models)]
    prior = padded_like([_prior(variables) for own in kept for variables in own], -torch.inf)
    documents = torch.tensor([[v.documents for v in own] for own in kept], device=device)
    scores = torch.zeros(*many, docs, classes, dtype=torch.float64, device=device)
    for model, (_, _, own_classes) in enumerate(shape):
        scores[model, ..., own_classes:] = -torch.inf
    squares = torch.zeros(*many, size, size, dtype=torch.bool, device=device)
    state = SearchState(
        shape=torch.tensor(shape, device=device),
        codes=stacked("codes"),
        num_values=stacked("num_values", 1),
        levels=stacked("levels", 1),
        occurring=stacked("occurring", 1),
        seen=stacked("seen"),
        labels=stacked("labels", -1),
        documents=documents,
        prior=torch.stack(prior).unflatten(0, many),
        judged=torch.stack(judged).unflatten(0, many),
        outside=torch.stack(padded_like(outside, 0)),
        adjacent=squares,
        begun=squares.clone(),
        figures=torch.zeros(*many, size, size, FIGURES, dtype=torch.float64, device=device),
        key=torch.zeros(*many, size, size, dtype=torch.int64, device=device),
        spent=torch.zeros(many, dtype=torch.float64, device=device),
        done=documents == 0,
        moves=torch.zeros(*many, 0, 2, dtype=torch.int32, device=device),
        scores=scores,
        measures=torch.zeros(*many, 1, len(Measure), dtype=torch.float64, device=device),
        rivals=torch.zeros(*many, 2, len(Measure), dtype=torch.float64, device=device),
        rival_graphs=squares[:, 0].clone(),
        chosen=squares[:, 0].clone(),
        picked=torch.zeros(models, dtype=torch.int64, device=device),
        last=torch.zeros(models, len(TOLD), dtype=torch.float64, device=device),
        loo=scores.clone() if plan.leaves_out else None,
        shares=torch.zeros(models, 3, docs, dtype=torch.float32, device=device) if plan.combine == "stack" else None,
        words=len(parts) if of_words else 0,
    )
    _begin(plan, problem, parts, state, kept)
    return state.parted()


def _counted(plan: Plan, parts: Sequence[Problem], tracks: Sequence[Sequence[Track]]) -> list[list[Variables]]:
    """What every track of every model is counted on; replicas of one view and seed have the same."""
    keys = []
    for model in range(len(tracks)):
        word, replica = model % len(parts), model // len(parts)
        replicas = parts[word].replicas
        keys.append((word, int(replicas.view[replica]), int(replicas.seed[replica])))
    known: dict[tuple[int, int, int], list[Variables]] = {}

    def count(model: int) -> None:
        part, replica = parts[model % len(parts)], model // len(parts)
        known[keys[model]] = [track_variables(plan, part, replica, *one) for one in enumerate(tracks[model])]

    first = {key: model for model, key in reversed(list(enumerate(keys)))}
    for model in first.values():
        count(model)
    return [known[key] for key in keys]


def _begin(
    plan: Plan, problem: Problem, parts: Sequence[Problem], state: SearchState, kept: Sequence[Sequence[Variables]]
) -> None:
    """Puts every search at its first graph; what models share is made once."""
    places = torch.nonzero(~state.done).tolist()
    shared = {id(kept[m][j]): (kept[m][j], m % len(parts)) for m, j in places}
    fixed, barred = _named_edges(plan, problem, state)
    first: dict[int, tuple[Tensor | None, Tensor]] = {}

    def prepare(variables: Variables, word: int) -> None:
        graph = _start(plan, variables, fixed[word], barred[word])
        first[id(variables)] = first_figures(variables, plan.power), graph

    run_each([partial(prepare, *one) for one in shared.values()], [variables for variables, _ in shared.values()])
    searches = searches_of(plan, problem, state, torch.tensor(places, device=state.done.device).reshape(-1, 2))

    def begin(number: int) -> None:
        model, track = places[number]
        variables = kept[model][track]
        figures, graph = first[id(variables)]
        size, ess = len(graph), searches.ess[number]
        state.adjacent[model, track, :size, :size] = state.begun[model, track, :size, :size] = graph
        state.figures[model, track, :size, :size] = begun_figures(figures, searches.rules[number], size, graph.device)
        add_graph(variables, graph, ess, scores_of(state.scores[model, track], state, model), leave_out=False)
        if state.loo is not None:
            add_graph(variables, graph, ess, scores_of(state.loo[model, track], state, model), leave_out=True)
        at = torch.tensor([[model, track]], device=graph.device)
        note(state, at, (state.scores if state.loo is None else state.loo)[model, track][None], None)
        if bool(state.judged[model, track].any()) and plan.combine in ("none", "stack"):
            _measure_rivals(plan, state, at, variables, ess)

    run_each([partial(begin, number) for number in range(len(places))], searches.variables)


def _named_edges(plan: Plan, problem: Problem, state: SearchState) -> tuple[Tensor, Tensor]:
    """The fixed edges, and the forbidden ones, of each word, or of the table (1 or words, V, V)."""
    size, device = state.adjacent.shape[-1], state.adjacent.device
    fixed = edge_masks(plan.fixed, "model.fixed", plan.classes, problem.rows, size, device)
    barred = edge_masks(plan.forbidden, "model.forbidden", plan.classes, problem.rows, size, device)
    if bool((fixed & barred).any()):
        raise UserFault("an edge is fixed and forbidden", key="model.forbidden", remedy="name it once")
    return fixed, barred


def _start(plan: Plan, variables: Variables, fixed: Tensor, barred: Tensor) -> Tensor:
    size, device = len(variables.levels), variables.codes.device
    graphs = {
        "empty": lambda: torch.zeros(size, size, dtype=torch.bool),
        "naive_bayes": lambda: naive_bayes_graph(size, device),
        "tree": lambda: tree_graph(variables),
        "tan": lambda: tan_graph(variables),
        "saturated": lambda: ~torch.eye(size, dtype=torch.bool),
    }
    graph = graphs[plan.start]().to(device)
    graph = (graph | fixed[:size, :size]) & ~barred[:size, :size]
    if junction_forest(graph) is None:
        raise UserFault(
            f"the start {plan.start} with the fixed edges and without the forbidden ones is not chordal",
            key="model.start",
            remedy="fix fewer edges, or begin with another graph (start: empty)",
        )
    return graph


def _measure_rivals(plan: Plan, state: SearchState, at: Tensor, variables: Variables, ess: float) -> None:
    model, track = at[0].tolist()
    tree = tan_graph(variables)
    if track <= 1:
        state.rival_graphs[model, : len(tree), : len(tree)] = tree
    for place, graph in enumerate((naive_bayes_graph(len(tree), tree.device), tree)):
        scores = graph_scores(state, model, track, variables, graph, ess, plan.leaves_out)
        note(state, at, scores[None], place)


def _outside(part: Problem, replica: int) -> Tensor:
    """(docs,) bool: labelled documents that a replica does not train on."""
    return ~part.views.train[int(part.replicas.view[replica])] & (part.labels >= 0)


def _prior(variables: Variables) -> Tensor:
    """(K,) float64: log shares of the classes among the counted rows."""
    counted = variables.labels[variables.labels >= 0]
    counts = torch.bincount(counted, minlength=int(variables.num_values[CLASS])).double()
    return torch.log(counts / max(variables.documents, 1))
