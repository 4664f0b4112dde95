"""Decomposable models: a step is a move of every search. See gpuclf.models.decomposable.search for what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.decomposable.advance import ESS, advance, note, searches_of, tell, variables_of_track
from gpuclf.models.decomposable.graph import (
    CLASS,
    factors,
    junction_forest,
    naive_bayes_graph,
    tan_graph,
    tree_graph,
)
from gpuclf.models.decomposable.kept import kept_factors, predictor_of, stacked_factors
from gpuclf.models.decomposable.plan import FOLDED, Plan, Track, edge_mask, tracks_of
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.search import FIGURES, add_factor, begun_figures, first_figures
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
from gpuclf.models.decomposable.stacking import stack_weights, without_tail
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.decomposable.variables import Variables, num_inputs, variables_of
from gpuclf.models.learner import Problem
from gpuclf.ops.threads import run_on_threads

_LAST = ("gain", "distance", "dof", "log10_p", "edges", "outside_accuracy", "uncovered")


@dataclass(frozen=True)
class Decomposable:
    """The learner; options as in DecomposableOptions."""

    plan: Plan

    def init(self, problem: Problem) -> SearchState:
        """Every search at the graph that it begins with, nothing moved; rivals measured where rows judge models."""
        replicas, classes = len(problem.replicas), problem.num_classes
        size, docs = 1 + num_inputs(problem.rows, classes), problem.labels.numel()
        tracks = [tracks_of(self.plan, problem, replica) for replica in range(replicas)]
        shape = (replicas, len(tracks[0]))
        kept = self._counted(problem, tracks)
        device = problem.labels.device
        scores = torch.zeros(*shape, docs, classes, dtype=torch.float64, device=device)
        squares = torch.zeros(*shape, size, size, dtype=torch.bool, device=device)

        def stacked(name: str) -> Tensor:
            return torch.stack([torch.stack([getattr(v, name) for v in own]) for own in kept])

        state = SearchState(
            codes=stacked("codes"),
            num_values=stacked("num_values"),
            levels=stacked("levels"),
            occurring=stacked("occurring"),
            seen=stacked("seen"),
            labels=stacked("labels"),
            documents=torch.tensor([[v.documents for v in own] for own in kept], device=device),
            prior=torch.stack([torch.stack([_prior(v) for v in own]) for own in kept]),
            judged=torch.stack([torch.stack([track.judged for track in own]) for own in tracks]),
            adjacent=squares,
            begun=squares.clone(),
            figures=torch.zeros(*shape, size, size, FIGURES, dtype=torch.float64, device=device),
            key=torch.zeros(*shape, size, size, dtype=torch.int64, device=device),
            spent=torch.zeros(shape, dtype=torch.float64, device=device),
            done=torch.zeros(shape, dtype=torch.bool, device=device),
            moves=torch.zeros(*shape, 0, 2, dtype=torch.int32, device=device),
            scores=scores,
            measures=torch.zeros(*shape, 1, len(Measure), dtype=torch.float64, device=device),
            rivals=torch.zeros(*shape, 2, len(Measure), dtype=torch.float64, device=device),
            rival_graphs=squares[:, 0].clone(),
            chosen=squares[:, 0].clone(),
            picked=torch.zeros(replicas, dtype=torch.int64, device=device),
            last=torch.zeros(replicas, len(_LAST), dtype=torch.float64, device=device),
            loo=torch.zeros(*shape, docs, classes, dtype=torch.float64, device=device)
            if self.plan.leaves_out
            else None,
            shares=torch.zeros(replicas, 3, docs, dtype=torch.float32, device=device)
            if self.plan.combine == "stack"
            else None,
        )
        self._begin(problem, state, kept)
        return state

    def step(self, problem: Problem, state: SearchState) -> SearchState:
        """The best move of every search that has one; a replica whose searches have ended chooses its model."""
        longer = state.moves.new_full((*state.moves.shape[:2], 1, 2), -1)
        state = replace(
            state,
            moves=torch.cat([state.moves, longer], dim=2),
            measures=torch.cat([state.measures, state.measures[:, :, -1:]], dim=2),
            shares=None if state.shares is None else torch.cat([state.shares, state.shares[:, -1:]], dim=1),
            step=state.step + 1,
        )
        going = torch.nonzero(~state.done)
        advance(self.plan, problem, state, going)
        alive = going[:, 0].unique()
        tell(problem, state, alive, slice(4, 7))
        for replica in alive.tolist():
            if bool(state.done[replica].all()):
                self._choose(problem, state, replica)
        return state

    def rechosen(self, problem: Problem, state: SearchState) -> SearchState:
        """A state whose searches have ended, with the model that this learner chooses: rules of choice may share a
        search, where its tracks are the same (cv and stability, select_by, one_standard_error)."""
        state = replace(state, picked=state.picked.clone(), chosen=state.chosen.clone())
        for replica in range(len(problem.replicas)):
            self._choose(problem, state, replica)
        return state

    def finished(self, problem: Problem, state: SearchState) -> Tensor:
        """Whether every search of a replica has no further move."""
        return state.done.all(dim=1)

    def result(self, problem: Problem, state: SearchState) -> DecomposablePredictor:
        """The chosen model with parameters from all training rows; while a search runs, the model that it has."""
        made = []
        for replica in range(len(problem.replicas)):
            ended = bool(state.done[replica].all())
            graph = state.chosen[replica] if ended else state.adjacent[replica, 0]
            variables = variables_of_track(state, replica, 0)
            if self.plan.select == "heldout":
                train = problem.views.train[int(problem.replicas.view[replica])]
                variables = self._variables(problem, replica, Track(train, train), 0, whole=True)
            moves = state.moves[replica, 0]
            ess = float(problem.replicas.options[ESS][replica])
            begun, weights = state.begun[replica, 0], self._weights(state, replica)
            if weights is None:
                kept = kept_factors(self.plan, graph, begun, moves, ess)
            else:
                weights = without_tail(weights)
                kept = stacked_factors(self.plan, state.rival_graphs[replica], begun, moves, weights, ess)
            made.append(predictor_of(self.plan, variables, kept, graph, state.measures[replica, 0], ess, weights))
        return DecomposablePredictor.joined(made)

    def alternatives(self, problem: Problem, state: SearchState) -> dict[str, DecomposablePredictor]:
        """None."""
        return {}

    def progress(self, problem: Problem, state: SearchState) -> dict[str, Tensor]:
        """Of the first search's last move: gain, G² (or its like), degrees of freedom, log10 p; edges of its graph, and
        how its model does on documents outside of training: accuracy, share that it does not cover (0 without any)."""
        return {name: state.last[:, place].clone() for place, name in enumerate(_LAST)}

    def _variables(self, problem: Problem, replica: int, track: Track, place: int, whole: bool = False) -> Variables:
        """What a track is counted on; a track of all training rows has the view's own word sets."""
        view = int(problem.replicas.view[replica])
        scale = None if problem.views.col_scale is None else problem.views.col_scale[view]
        sets = scale if whole or self.plan.select in ("criterion", "leave_one_out") or self._is_whole(place) else None
        if sets is None and scale is not None and not hasattr(problem.rows, "word"):
            sets = scale  # of bags: which features the fold has
        return variables_of(problem.rows, problem.labels, problem.num_classes, track.train, sets)

    def _is_whole(self, place: int) -> bool:
        return self.plan.select in FOLDED and place == 0

    def _counted(self, problem: Problem, tracks: Sequence[Sequence[Track]]) -> list[list[Variables]]:
        """What every track is counted on; replicas of one view and seed have the same."""
        known: dict[tuple[int, int], list[Variables]] = {}
        pairs = list(zip(problem.replicas.view.tolist(), problem.replicas.seed.tolist(), strict=True))
        for replica, pair in enumerate(pairs):
            if pair not in known:
                own = enumerate(tracks[replica])
                known[pair] = [self._variables(problem, replica, track, place) for place, track in own]
        return [known[pair] for pair in pairs]

    def _begin(self, problem: Problem, state: SearchState, kept: Sequence[Sequence[Variables]]) -> None:
        """Puts every search at its first graph; what replicas share is made once."""
        replicas, tracks = state.done.shape
        places = [(r, j) for r in range(replicas) for j in range(tracks)]
        shared = list({id(kept[r][j]): kept[r][j] for r, j in places}.values())
        first: dict[int, tuple[Tensor | None, Tensor]] = {}

        def prepare(variables: Variables) -> None:
            first[id(variables)] = first_figures(variables, self.plan.power), self._start(problem, variables)

        run_on_threads([partial(prepare, variables) for variables in shared])
        searches = searches_of(self.plan, problem, state, torch.tensor(places, device=state.done.device))

        def begin(number: int) -> None:
            here = places[number]
            variables = kept[here[0]][here[1]]
            figures, graph = first[id(variables)]
            state.adjacent[here] = state.begun[here] = graph
            state.figures[here] = begun_figures(figures, searches.rules[number], len(graph), graph.device)
            self._score(variables, graph, searches.ess[number], state.scores[here], leave_out=False)
            if state.loo is not None:
                self._score(variables, graph, searches.ess[number], state.loo[here], leave_out=True)
            at = torch.tensor([here], device=graph.device)
            note(state, at, (state.scores if state.loo is None else state.loo)[here][None], None)
            if bool(state.judged[here].any()) and self.plan.combine in ("none", "stack"):
                self._measure_rivals(state, at, variables, searches.ess[number])

        run_on_threads([partial(begin, number) for number in range(len(places))])

    def _score(self, variables: Variables, graph: Tensor, ess: float, out: Tensor, leave_out: bool) -> None:
        """Adds log P(class, inputs) by a graph to `out` (docs, K)."""
        for members, power in factors(graph).items():
            add_factor(out, variables, members, power, ess, leave_out)

    def _start(self, problem: Problem, variables: Variables) -> Tensor:
        size, device = len(variables.levels), variables.codes.device
        graphs = {
            "empty": lambda: torch.zeros(size, size, dtype=torch.bool),
            "naive_bayes": lambda: naive_bayes_graph(size, device),
            "tree": lambda: tree_graph(variables),
            "tan": lambda: tan_graph(variables),
            "saturated": lambda: ~torch.eye(size, dtype=torch.bool),
        }
        graph = graphs[self.plan.start]().to(device)
        classes, rows = self.plan.classes, problem.rows
        fixed = edge_mask(self.plan.fixed, classes, rows, size, "model.fixed", device)
        barred = edge_mask(self.plan.forbidden, classes, rows, size, "model.forbidden", device)
        if bool((fixed & barred).any()):
            raise UserFault("an edge is fixed and forbidden", key="model.forbidden", remedy="name it once")
        graph = (graph | fixed) & ~barred
        if junction_forest(graph) is None:
            raise UserFault(
                f"the start {self.plan.start} with the fixed edges and without the forbidden ones is not chordal",
                key="model.start",
                remedy="fix fewer edges, or begin with another graph (start: empty)",
            )
        return graph

    def _measure_rivals(self, state: SearchState, at: Tensor, variables: Variables, ess: float) -> None:
        replica, track = at[0].tolist()
        tree = tan_graph(variables)
        if track <= 1:
            state.rival_graphs[replica] = tree
        for place, graph in enumerate((naive_bayes_graph(len(tree), tree.device), tree)):
            scores = torch.zeros_like(state.scores[replica, track])
            self._score(variables, graph, ess, scores, self.plan.leaves_out)
            note(state, at, scores[None], place)

    def _weights(self, state: SearchState, replica: int) -> Tensor | None:
        """(2 + S,) float64 of naive Bayes, the tree-augmented one and the sequence; None where nothing is stacked."""
        if state.shares is None:
            return None
        made = int((state.moves[replica, 0, :, 0] >= 0).sum())
        return stack_weights(state.shares[replica, : 3 + made, state.judged[replica, 0]])

    def _choose(self, problem: Problem, state: SearchState, replica: int) -> None:
        plan = self.plan
        made = int((state.moves[replica, 0, :, 0] >= 0).sum())
        weights = self._weights(state, replica)
        if weights is not None:
            self._take(state, replica, (NAIVE_BAYES, TREE_AUGMENTED, *range(made + 1))[int(weights.argmax())])
            return
        if plan.select == "criterion":
            state.picked[replica], state.chosen[replica] = made, state.adjacent[replica, 0]
            return
        judges = list(range(1, state.measures.shape[1])) if plan.select in FOLDED else [0]
        begun, moves = state.begun[replica, 0], state.moves[replica, 0]
        stable = None
        if plan.select == "stability":
            stable = stable_graph(begun, moves, state.adjacent[replica, judges], plan.stable_share)
            ess = float(problem.replicas.options[ESS][replica])
            sequence, edges = self._judged(state, replica, judges, stable, ess), [int(stable.sum()) // 2]
        else:
            sequence = state.measures[replica, judges, : made + 1].sum(0)
            edges = edges_along(begun, moves[:made])
        rival_edges = [len(begun) - 1, int(state.rival_graphs[replica].sum()) // 2]
        rows = int(state.judged[replica].sum())
        rivals = state.rivals[replica, judges].sum(0)
        place = pick(sequence, edges, rivals, rival_edges, rows, plan.select_by, plan.near)
        self._take(state, replica, place, stable)

    def _judged(self, state: SearchState, replica: int, judges: Sequence[int], graph: Tensor, ess: float) -> Tensor:
        """(1, 4) float64 (see Measure): a graph with the parameters of each of the tracks, on the rows that judge."""
        total = torch.zeros(1, len(Measure), dtype=torch.float64, device=graph.device)
        for track in judges:
            variables = variables_of_track(state, replica, track)
            scores = torch.zeros_like(state.scores[replica, track])
            self._score(variables, graph, ess, scores, leave_out=False)
            total += measured(
                scores, variables.codes[CLASS].long(), state.prior[replica, track], state.judged[replica, track]
            )
        return total

    def _take(self, state: SearchState, replica: int, place: int, stable: Tensor | None = None) -> None:
        """The final graph: of the sequence, or a rival's; the stable one (V, V) in place of any of the sequence."""
        begun = state.begun[replica, 0]
        graphs = {
            NAIVE_BAYES: naive_bayes_graph(len(begun), begun.device),
            TREE_AUGMENTED: state.rival_graphs[replica],
        }
        if stable is not None and place not in graphs:
            place, graphs[STABLE] = STABLE, stable
        state.picked[replica] = place
        state.chosen[replica] = graphs.get(place, replay(begun, state.moves[replica, 0], max(place, 0)))


def _prior(variables: Variables) -> Tensor:
    """(K,) float64: log shares of the classes among the counted rows."""
    counted = variables.labels[variables.labels >= 0]
    counts = torch.bincount(counted, minlength=int(variables.num_values[CLASS])).double()
    return torch.log(counts / max(variables.documents, 1))
