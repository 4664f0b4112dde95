"""Decomposable models: a step is a move of every search. See gpuclf.models.decomposable.search for what it does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.graph import (
    CLASS,
    Members,
    factors,
    junction_forest,
    move_factors,
    naive_bayes_graph,
    tan_graph,
    tree_graph,
)
from gpuclf.models.decomposable.kept import kept_factors, predictor_of, stacked_factors
from gpuclf.models.decomposable.plan import Plan, Track, edge_mask, tracks_of
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.search import FIGURES, Frontier, Limits, Search, add_factor, leads_back
from gpuclf.models.decomposable.selection import NAIVE_BAYES, TREE_AUGMENTED, Measure, measured, pick, replay
from gpuclf.models.decomposable.stacking import gold_shares, stack_weights, without_tail
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.decomposable.variables import Variables, num_inputs, variables_of
from gpuclf.models.learner import Problem
from gpuclf.ops.threads import run_on_threads

ESS, ALPHA, CRITERION = "model.ess", "model.alpha", "model.criterion"
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
        kept: list[list[Variables]] = [
            [self._variables(problem, replica, track, place) for place, track in enumerate(own)]
            for replica, own in enumerate(tracks)
        ]
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
        places = [(r, j) for r in range(replicas) for j in range(shape[1])]
        run_on_threads([partial(self._begin, problem, state, *place, kept[place[0]][place[1]]) for place in places])
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
        going = [(r, j) for r, j in torch.nonzero(~state.done).tolist()]
        run_on_threads([partial(self._advance, problem, state, *place) for place in going])
        for replica in dict.fromkeys(r for r, _ in going):
            self._tell(problem, state, replica)
            if bool(state.done[replica].all()):
                self._choose(state, replica)
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
            variables = _of_track(state, replica, 0)
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
        return self.plan.select == "cv" and place == 0

    def _begin(self, problem: Problem, state: SearchState, replica: int, track: int, variables: Variables) -> None:
        search = self._search(problem, state, replica, track)
        graph = self._start(problem, variables)
        frontier = search.begin(variables, graph)
        state.adjacent[replica, track] = state.begun[replica, track] = graph
        state.figures[replica, track] = frontier.figures
        ess = search.ess
        for members, power in factors(graph).items():
            self._add(state, replica, track, variables, members, power, ess)
        self._measure(state, replica, track, variables)
        if bool(state.judged[replica, track].any()) and self.plan.combine in ("none", "stack"):
            self._measure_rivals(state, replica, track, variables, ess)

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
        fixed = edge_mask(self.plan.fixed, problem.rows, size, "model.fixed", device)
        barred = edge_mask(self.plan.forbidden, problem.rows, size, "model.forbidden", device)
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

    def _search(self, problem: Problem, state: SearchState, replica: int, track: int) -> Search:
        plan, rows = self.plan, problem.rows
        size, device = state.adjacent.shape[-1], state.adjacent.device
        limits = Limits(
            add=plan.direction in ("forward", "both"),
            remove=plan.direction in ("backward", "both"),
            max_clique=plan.max_clique,
            max_cells=plan.max_cells,
            max_edges=plan.max_edges,
            fixed=edge_mask(plan.fixed, rows, size, "model.fixed", device),
            free=~edge_mask(plan.forbidden, rows, size, "model.forbidden", device),
        )
        rules = plan.rules
        if CRITERION in problem.replicas.options:  # a batch of one criterion need not say it
            rules = replace(rules, criterion=CRITERIA[int(problem.replicas.options[CRITERION][replica])])
        return Search(
            rules=rules,
            limits=limits,
            power=plan.power,
            permutations=plan.permutations,
            seed=int(problem.replicas.seed[replica]),
            alpha=float(problem.replicas.options[ALPHA][replica]),
            ess=float(problem.replicas.options[ESS][replica]),
            judged=state.judged[replica, track],
        )

    def _advance(self, problem: Problem, state: SearchState, replica: int, track: int) -> None:
        """One move of one search, or its end."""
        here = (replica, track)
        search, variables = self._search(problem, state, *here), _of_track(state, *here)
        held = Frontier(state.adjacent[here], state.figures[here], state.key[here], float(state.spent[here]))
        frontier, moves = search.refreshed(variables, held)
        move = search.best(variables, frontier, moves)
        if move is None or leads_back(state.moves[here], move):
            state.done[here] = True
            if track == 0:
                state.last[replica, :4] = 0
            return
        for members, power in move_factors(frontier.adjacent, move.a, move.b).items():
            self._add(state, *here, variables, members, power, search.ess)
        frontier = search.made(frontier, move)
        state.adjacent[here], state.figures[here], state.key[here] = frontier.adjacent, frontier.figures, frontier.key
        state.spent[here] = frontier.spent
        state.moves[replica, track, -1, 0], state.moves[replica, track, -1, 1] = move.a, move.b
        self._measure(state, *here, variables)
        if track == 0:
            figures = [move.gain, move.distance, move.dof, move.log_p / math.log(10)]
            state.last[replica, :4] = torch.tensor(figures, dtype=torch.float64)

    def _add(
        self,
        state: SearchState,
        replica: int,
        track: int,
        variables: Variables,
        members: Members,
        power: int,
        ess: float,
    ) -> None:
        add_factor(state.scores[replica, track], variables, members, power, ess)
        if state.loo is not None:
            add_factor(state.loo[replica, track], variables, members, power, ess, leave_out=True)

    def _measure(self, state: SearchState, replica: int, track: int, variables: Variables) -> None:
        """Notes how a search's last model does on the rows that judge models."""
        scores = (state.scores if state.loo is None else state.loo)[replica, track]
        self._note(state, replica, variables, scores, state.measures[replica, track, -1], track, -1)

    def _note(
        self,
        state: SearchState,
        replica: int,
        variables: Variables,
        scores: Tensor,
        out: Tensor,
        track: int,
        place: int,
    ) -> None:
        """Measures (4,) of scores (docs, K) go to `out`, and to `place` how likely each row's class is."""
        rows = torch.nonzero(state.judged[replica, track]).flatten()
        labels, prior = variables.codes[CLASS, rows].long(), _prior(variables)
        out.copy_(measured(scores[rows], labels, prior))
        if state.shares is not None:
            state.shares[replica, place, rows] = gold_shares(scores[rows], labels, prior)

    def _measure_rivals(self, state: SearchState, replica: int, track: int, variables: Variables, ess: float) -> None:
        tree = tan_graph(variables)
        if track <= 1:
            state.rival_graphs[replica] = tree
        for place, graph in enumerate((naive_bayes_graph(len(tree), tree.device), tree)):
            scores = torch.zeros_like(state.scores[replica, track])
            for members, power in factors(graph).items():
                add_factor(scores, variables, members, power, ess, leave_out=self.plan.leaves_out)
            self._note(state, replica, variables, scores, state.rivals[replica, track, place], track, place)

    def _tell(self, problem: Problem, state: SearchState, replica: int) -> None:
        """Figures of the first search's model on the rows that its replica does not train on."""
        outside = ~problem.views.train[int(problem.replicas.view[replica])] & (problem.labels >= 0)
        found = measured(
            state.scores[replica, 0, outside], problem.labels[outside], _prior(_of_track(state, replica, 0))
        )
        count = max(int(outside.sum()), 1)
        state.last[replica, 4] = int(state.adjacent[replica, 0].sum()) // 2
        state.last[replica, 5] = float(found[Measure.RIGHT]) / count
        state.last[replica, 6] = 1 - float(found[Measure.COVERS]) / count if bool(outside.any()) else 0.0

    def _weights(self, state: SearchState, replica: int) -> Tensor | None:
        """(2 + S,) float64 of naive Bayes, the tree-augmented one and the sequence; None where nothing is stacked."""
        if state.shares is None:
            return None
        made = int((state.moves[replica, 0, :, 0] >= 0).sum())
        return stack_weights(state.shares[replica, : 3 + made, state.judged[replica, 0]])

    def _choose(self, state: SearchState, replica: int) -> None:
        plan = self.plan
        made = int((state.moves[replica, 0, :, 0] >= 0).sum())
        weights = self._weights(state, replica)
        if weights is not None:
            self._take(state, replica, (NAIVE_BAYES, TREE_AUGMENTED, *range(made + 1))[int(weights.argmax())])
            return
        if plan.select == "criterion":
            state.picked[replica], state.chosen[replica] = made, state.adjacent[replica, 0]
            return
        judges: Sequence[int] = range(1, state.measures.shape[1]) if plan.select == "cv" else [0]
        sequence = state.measures[replica, list(judges), : made + 1].sum(0)
        begun, moves = state.begun[replica, 0], state.moves[replica, 0]
        edges = [int(replay(begun, moves, upto).sum()) // 2 for upto in range(made + 1)]
        rival_edges = [len(begun) - 1, int(state.rival_graphs[replica].sum()) // 2]
        rows = int(state.judged[replica].sum())
        rivals = state.rivals[replica, list(judges)].sum(0)
        self._take(state, replica, pick(sequence, edges, rivals, rival_edges, rows, plan.select_by, plan.near))

    def _take(self, state: SearchState, replica: int, place: int) -> None:
        """The final graph: of the sequence, or a rival's."""
        begun = state.begun[replica, 0]
        rivals = {
            NAIVE_BAYES: naive_bayes_graph(len(begun), begun.device),
            TREE_AUGMENTED: state.rival_graphs[replica],
        }
        state.picked[replica] = place
        state.chosen[replica] = rivals.get(place, replay(begun, state.moves[replica, 0], max(place, 0)))


def _of_track(state: SearchState, replica: int, track: int) -> Variables:
    labels = state.labels[replica, track]
    return Variables(
        codes=state.codes[replica, track],
        num_values=state.num_values[replica, track],
        labels=labels,
        levels=state.levels[replica, track],
        occurring=state.occurring[replica, track],
        seen=state.seen[replica, track],
        documents=int((labels >= 0).sum()),
    )


def _prior(variables: Variables) -> Tensor:
    """(K,) float64: log shares of the classes among the counted rows."""
    counted = variables.labels[variables.labels >= 0]
    counts = torch.bincount(counted, minlength=int(variables.num_values[CLASS])).double()
    return torch.log(counts / max(variables.documents, 1))
