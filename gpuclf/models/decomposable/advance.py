"""One move of every search of a state that goes on: made together, written into the state's tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.graph import CLASS, factors
from gpuclf.models.decomposable.plan import Plan, edge_masks
from gpuclf.models.decomposable.search import (
    Frontiers,
    Limits,
    Move,
    Searches,
    add_factor,
    add_table,
    leads_back,
    packed,
    run_each,
)
from gpuclf.models.decomposable.selection import Measure, measured
from gpuclf.models.decomposable.stacking import gold_shares
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.decomposable.variables import Variables
from gpuclf.models.learner import Problem

ESS, ALPHA, CRITERION = "model.ess", "model.alpha", "model.criterion"


def advance(plan: Plan, problem: Problem, state: SearchState, going: Tensor) -> None:
    """Makes the best move of each of the searches (B, 2), model and track, or ends those that have none. The state is
    merged."""
    flat = going[:, 0] * state.done.shape[1] + going[:, 1]
    whole = len(going) == state.done.numel()

    def of(name: str) -> Tensor:
        part: Tensor = getattr(state, name).flatten(0, 1)  # the same memory
        return part if whole else part[flat]

    held = Frontiers(of("adjacent"), of("figures"), of("key"), of("spent"))
    searches = searches_of(plan, problem, state, going)
    found = searches.best(held, searches.refreshed(held))
    places = going.tolist()
    made = [(n, move) for n, move in enumerate(found) if move and not leads_back(state.moves[tuple(places[n])], move)]
    for n in sorted({*range(len(found))} - {n for n, _ in made}):
        state.done[tuple(places[n])] = True
        if places[n][1] == 0:
            state.last[places[n][0], :4] = 0
    _multiply(state, searches, held.adjacent, going, made)
    searches.make(held, [n for n, _ in made], [move for _, move in made])
    if not whole:
        for name in ("adjacent", "figures", "key", "spent"):
            getattr(state, name).flatten(0, 1)[flat] = getattr(held, name)
    _write(state, going, made)


def searches_of(plan: Plan, problem: Problem, state: SearchState, going: Tensor) -> Searches:
    """The searches (B, 2) with what they go by and are counted on."""
    rows, size, device = problem.rows, state.adjacent.shape[-1], state.adjacent.device
    word = going[:, 0] % max(state.words, 1)
    there = torch.arange(size, device=device) < state.shape[going[:, 0], :1]
    barred = edge_masks(plan.forbidden, "model.forbidden", plan.classes, rows, size, device)[word]
    limits = Limits(
        add=plan.direction in ("forward", "both"),
        remove=plan.direction in ("backward", "both"),
        max_clique=plan.max_clique,
        max_cells=plan.max_cells,
        max_edges=plan.max_edges,
        fixed=edge_masks(plan.fixed, "model.fixed", plan.classes, rows, size, device)[word],
        free=~barred & there[:, None] & there[:, :, None],
    )
    options = {key: option(problem, state, key)[going[:, 0]].tolist() for key in problem.replicas.options}
    rules = [plan.rules] * len(going)
    if CRITERION in options:  # a batch of one criterion need not say it
        rules = [replace(plan.rules, criterion=CRITERIA[int(number)]) for number in options[CRITERION]]
    return Searches(
        rules=rules,
        limits=limits,
        power=plan.power,
        permutations=plan.permutations,
        seeds=of_models(problem.replicas.seed, state)[going[:, 0]].tolist(),
        alphas=options[ALPHA],
        ess=options[ESS],
        judged=state.judged[going[:, 0], going[:, 1]],
        variables=[variables_of_track(state, *place) for place in going.tolist()],
    )


def of_models(values: Tensor, state: SearchState) -> Tensor:
    """What every replica has (R,) as what every model of a merged state has."""
    return values.repeat_interleave(max(state.words, 1))


def option(problem: Problem, state: SearchState, key: str) -> Tensor:
    """An option of every model of a merged state."""
    return of_models(problem.replicas.options[key], state)


def variables_of_track(state: SearchState, model: int, track: int) -> Variables:
    """What a track is counted on, without padding."""
    here = (model, track)
    variables, documents, _ = state.shape[model].tolist()
    num_values = state.num_values[here][:variables]
    return Variables(
        codes=state.codes[here][:variables, :documents].contiguous(),
        num_values=num_values,
        labels=state.labels[here][:documents],
        levels=state.levels[here][:variables],
        occurring=state.occurring[here][:variables],
        seen=state.seen[here][: int(num_values[1:].sum())],
        documents=int(state.documents[here]),
    )


def scores_of(scores: Tensor, state: SearchState, model: int) -> Tensor:
    """A model's part of padded scores (docs, K)."""
    _, documents, classes = state.shape[model].tolist()
    return scores[:documents, :classes]


def _multiply(
    state: SearchState, searches: Searches, graphs: Tensor, going: Tensor, made: Sequence[tuple[int, Move]]
) -> None:
    """Each move multiplies its model by P(abS) P(S) / (P(aS) P(bS)), or divides it: scores of all documents."""
    if not made:
        return
    device = graphs.device
    at, a, b = (torch.tensor(part, device=device) for part in zip(*((n, m.a, m.b) for n, m in made), strict=True))
    sets = (graphs[at, a] & graphs[at, b])[:, None].repeat(1, 4, 1)  # abS, aS, bS, S
    every = torch.arange(len(made), device=device)
    for place, ends in ((0, (a, b)), (1, (a,)), (2, (b,))):
        for end in ends:
            sets[every, place, end] = True
    some = sets.any(dim=2).tolist()

    def multiply(place: int, number: int, move: Move) -> None:
        variables, here = searches.variables[number], tuple(going[number].tolist())
        marginals = [
            (power if move.added else -power, members[: len(variables.levels)])
            for power, members, present in zip((1, -1, -1, 1), sets[place], some[place], strict=True)
            if present
        ]
        for scores, leave_out in ((state.scores, False), (state.loo, True)):
            if scores is not None:
                with packed(scores_of(scores[here], state, here[0])) as held:
                    for sign, members in marginals:
                        add_table(held, variables, members, sign, searches.ess[number], leave_out)

    pieces = [partial(multiply, place, number, move) for place, (number, move) in enumerate(made)]
    run_each(pieces, searches.variables)


def _write(state: SearchState, going: Tensor, made: Sequence[tuple[int, Move]]) -> None:
    """Notes the moves, and how the models that they made do on the rows that judge models."""
    if not made:
        return
    at = going[[n for n, _ in made]]
    model, track = at.T
    ends = torch.tensor([(move.a, move.b) for _, move in made], dtype=torch.int32, device=going.device)
    state.moves[model, track, -1] = ends
    note(state, at, (state.scores if state.loo is None else state.loo)[model, track], None)
    figures = [(m.gain, m.distance, m.dof, m.log_p / math.log(10)) for _, m in made]
    first = track == 0
    state.last[model[first], :4] = torch.tensor(figures, dtype=torch.float64, device=going.device)[first]


def note(state: SearchState, at: Tensor, scores: Tensor, rival: int | None) -> None:
    """Notes how the last models of the searches `at` (B, 2), or a rival, do by scores (B, docs, K) on judged rows."""
    model, track = at.T
    rows = state.judged[model, track]
    if not bool(rows.any()):
        return
    labels, prior = state.codes[model, track, CLASS].long(), state.prior[model, track]
    figures = measured(scores, labels, prior, rows)
    if rival is None:
        state.measures[model, track, -1] = figures
    else:
        state.rivals[model, track, rival] = figures
    if state.shares is not None:
        place = -1 if rival is None else rival
        state.shares[model, place] = torch.where(rows, gold_shares(scores, labels, prior), 0.0)


def tell(state: SearchState, models: Tensor, out: slice) -> None:
    """Figures of the first search's model on the rows that it does not train on: edges, share of right ones, and of
    those that it does not cover."""
    outside, labels = state.outside[models], state.codes[models, 0, CLASS].long()
    found = measured(state.scores[models, 0], labels, state.prior[models, 0], outside)
    count = outside.sum(dim=1)
    shares = found / count.clamp(min=1)[:, None]
    missed = torch.where(count > 0, 1 - shares[:, Measure.COVERS], 0.0)
    edges = state.adjacent[models, 0].sum(dim=(1, 2)).double() / 2
    state.last[models, out] = torch.stack([edges, shares[:, Measure.RIGHT], missed], dim=1)


def add_graph(variables: Variables, graph: Tensor, ess: float, out: Tensor, leave_out: bool) -> None:
    """Adds log P(class, inputs) by a graph to `out` (docs, K)."""
    with packed(out) as held:
        for members, power in factors(graph).items():
            add_factor(held, variables, members, power, ess, leave_out)


def graph_scores(
    state: SearchState,
    model: int,
    track: int,
    variables: Variables,
    graph: Tensor,
    ess: float,
    leave_out: bool,
) -> Tensor:
    """(docs, K) float64, padded: log P(class, inputs) by a graph that a track is counted for."""
    scores = torch.zeros_like(state.scores[model, track])
    scores[:, int(state.shape[model, 2]) :] = -torch.inf
    add_graph(variables, graph, ess, scores_of(scores, state, model), leave_out)
    return scores
