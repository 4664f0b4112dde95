"""Decomposable models: a step is a move of every search. See gpuclf.models.decomposable.search for what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.advance import (
    ESS,
    advance,
    note,
    option,
    scores_of,
    searches_of,
    tell,
    variables_of_track,
)
from gpuclf.models.decomposable.graph import (
    CLASS,
    factors,
    junction_forest,
    naive_bayes_graph,
    tan_graph,
    tree_graph,
)
from gpuclf.models.decomposable.kept import kept_factors, predictor_of, stacked_factors
from gpuclf.models.decomposable.parts import parts_of
from gpuclf.models.decomposable.plan import FOLDED, Plan, Track, edge_masks, tracks_of
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.search import FIGURES, add_factor, begun_figures, first_figures, packed
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
from gpuclf.models.decomposable.word_predictor import WordPredictor
from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import padded_like
from gpuclf.ops.threads import run_on_threads

_LAST = ("gain", "distance", "dof", "log10_p", "edges", "outside_accuracy", "uncovered")


@dataclass(frozen=True)
class Decomposable:
    """The learner; options as in DecomposableOptions."""

    plan: Plan

    def init(self, problem: Problem) -> SearchState:
        """Every search at the graph that it begins with, nothing moved; rivals measured where rows judge models."""
        parts, of_words = parts_of(problem), isinstance(problem.rows, WordRows)
        models, device = len(problem.replicas) * len(parts), problem.labels.device
        for part in parts:
            num_inputs(part.rows, part.num_classes)  # refuses too many
        tracks = [tracks_of(self.plan, parts[m % len(parts)], m // len(parts), of_words) for m in range(models)]
        kept = self._counted(parts, tracks)
        shape = [(len(own[0].levels), own[0].labels.numel(), int(own[0].num_values[CLASS])) for own in kept]
        size, docs, classes = (max(column) for column in zip(*shape, strict=True))
        many = (models, len(tracks[0]))

        def stacked(name: str, fill: float = 0) -> Tensor:
            found = padded_like([getattr(variables, name) for own in kept for variables in own], fill)
            return torch.stack(found).unflatten(0, many)

        judged = padded_like([track.judged for own in tracks for track in own], 0)
        outside = [self._outside(parts[m % len(parts)], m // len(parts)) for m in range(models)]
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
            last=torch.zeros(models, len(_LAST), dtype=torch.float64, device=device),
            loo=scores.clone() if self.plan.leaves_out else None,
            shares=torch.zeros(models, 3, docs, dtype=torch.float32, device=device)
            if self.plan.combine == "stack"
            else None,
            words=len(parts) if of_words else 0,
        )
        self._begin(problem, parts, state, kept)
        return state.parted()

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
                self._choose(problem, state, model)
        return state.parted()

    def rechosen(self, problem: Problem, state: SearchState) -> SearchState:
        """A state whose searches have ended, with the model that this learner chooses: rules of choice may share a
        search, where its tracks are the same (cv and stability, select_by, one_standard_error)."""
        state = replace(state, picked=state.picked.clone(), chosen=state.chosen.clone()).merged()
        for model in range(len(state.done)):
            self._choose(problem, state, model)
        return state.parted()

    def finished(self, problem: Problem, state: SearchState) -> Tensor:
        """Whether every search of a replica has no further move."""
        return state.done.flatten(1).all(dim=1)

    def result(self, problem: Problem, state: SearchState) -> DecomposablePredictor | WordPredictor:
        """The chosen model with parameters from all training rows; while a search runs, the model that it has."""
        parts, state = parts_of(problem), state.merged()
        made = [self._made(parts[m % len(parts)], state, m, m // len(parts)) for m in range(len(state.done))]
        if not state.words:
            return DecomposablePredictor.joined(made)
        assert isinstance(problem.rows, WordRows)
        return WordPredictor.of(made, problem.rows.classes, self._shares(problem))

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
            variables = self._variables(part, replica, Track(train, train), 0, whole=True)
        moves = state.moves[model, 0]
        ess = float(part.replicas.options[ESS][replica])
        weights = self._weights(state, model)
        if weights is None:
            kept = kept_factors(self.plan, graph, begun, moves, ess)
        else:
            weights = without_tail(weights)
            kept = stacked_factors(self.plan, state.rival_graphs[model][:size, :size], begun, moves, weights, ess)
        return predictor_of(self.plan, variables, kept, graph, state.measures[model, 0], ess, weights)

    def _shares(self, problem: Problem) -> Tensor:
        """(R, K) float64: log shares of the classes in each replica's training set."""
        labels = problem.labels
        trained = problem.views.train[problem.replicas.view] & (labels >= 0)
        counts = torch.nn.functional.one_hot(labels.clamp(min=0), problem.num_classes).double()
        counted = trained.double() @ counts
        return torch.log(counted / counted.sum(dim=1, keepdim=True).clamp(min=1))

    def alternatives(self, problem: Problem, state: SearchState) -> dict[str, DecomposablePredictor]:
        """None."""
        return {}

    def progress(self, problem: Problem, state: SearchState) -> dict[str, Tensor]:
        """Of the first search's last move: gain, G² (or its like), degrees of freedom, log10 p; edges of its graph, and
        how its model does on documents outside of training: accuracy, share that it does not cover (0 without any). Of
        several words: sums, the least p, and shares of all their documents."""
        last = state.last
        if state.words:
            count = state.outside.sum(dim=2, keepdim=True)
            shares = (last[..., 5:] * count).sum(dim=1) / count.sum(dim=1).clamp(min=1)
            p, edges = last[..., 3].amin(dim=1, keepdim=True), last[..., 4].sum(dim=1, keepdim=True)
            last = torch.cat([last[..., :3].sum(dim=1), p, edges, shares], dim=1)
        return {name: last[:, place].clone() for place, name in enumerate(_LAST)}

    def _outside(self, part: Problem, replica: int) -> Tensor:
        """(docs,) bool: labelled documents that a replica does not train on."""
        return ~part.views.train[int(part.replicas.view[replica])] & (part.labels >= 0)

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

    def _counted(self, parts: Sequence[Problem], tracks: Sequence[Sequence[Track]]) -> list[list[Variables]]:
        """What every track of every model is counted on; replicas of one view and seed have the same."""
        known: dict[tuple[int, int, int], list[Variables]] = {}
        found = []
        for model, own in enumerate(tracks):
            word, replica = model % len(parts), model // len(parts)
            replicas = parts[word].replicas
            key = (word, int(replicas.view[replica]), int(replicas.seed[replica]))
            if key not in known:
                made = [self._variables(parts[word], replica, track, place) for place, track in enumerate(own)]
                known[key] = made
            found.append(known[key])
        return found

    def _begin(
        self, problem: Problem, parts: Sequence[Problem], state: SearchState, kept: Sequence[Sequence[Variables]]
    ) -> None:
        """Puts every search at its first graph; what models share is made once."""
        places = torch.nonzero(~state.done).tolist()
        shared = {id(kept[m][j]): (kept[m][j], m % len(parts)) for m, j in places}
        fixed, barred = self._named_edges(problem, state)
        first: dict[int, tuple[Tensor | None, Tensor]] = {}

        def prepare(variables: Variables, word: int) -> None:
            graph = self._start(variables, fixed[word], barred[word])
            first[id(variables)] = first_figures(variables, self.plan.power), graph

        run_on_threads([partial(prepare, *one) for one in shared.values()])
        searches = searches_of(self.plan, problem, state, torch.tensor(places, device=state.done.device).reshape(-1, 2))

        def begin(number: int) -> None:
            model, track = places[number]
            variables = kept[model][track]
            figures, graph = first[id(variables)]
            size, ess = len(graph), searches.ess[number]
            state.adjacent[model, track, :size, :size] = state.begun[model, track, :size, :size] = graph
            state.figures[model, track, :size, :size] = begun_figures(
                figures, searches.rules[number], size, graph.device
            )
            self._score(variables, graph, ess, scores_of(state.scores[model, track], state, model), leave_out=False)
            if state.loo is not None:
                self._score(variables, graph, ess, scores_of(state.loo[model, track], state, model), leave_out=True)
            at = torch.tensor([[model, track]], device=graph.device)
            note(state, at, (state.scores if state.loo is None else state.loo)[model, track][None], None)
            if bool(state.judged[model, track].any()) and self.plan.combine in ("none", "stack"):
                self._measure_rivals(state, at, variables, ess)

        run_on_threads([partial(begin, number) for number in range(len(places))])

    def _score(self, variables: Variables, graph: Tensor, ess: float, out: Tensor, leave_out: bool) -> None:
        """Adds log P(class, inputs) by a graph to `out` (docs, K)."""
        with packed(out) as held:
            for members, power in factors(graph).items():
                add_factor(held, variables, members, power, ess, leave_out)

    def _named_edges(self, problem: Problem, state: SearchState) -> tuple[Tensor, Tensor]:
        """The fixed edges, and the forbidden ones, of each word, or of the table (1 or words, V, V)."""
        plan, size, device = self.plan, state.adjacent.shape[-1], state.adjacent.device
        fixed = edge_masks(plan.fixed, "model.fixed", plan.classes, problem.rows, size, device)
        barred = edge_masks(plan.forbidden, "model.forbidden", plan.classes, problem.rows, size, device)
        if bool((fixed & barred).any()):
            raise UserFault("an edge is fixed and forbidden", key="model.forbidden", remedy="name it once")
        return fixed, barred

    def _start(self, variables: Variables, fixed: Tensor, barred: Tensor) -> Tensor:
        size, device = len(variables.levels), variables.codes.device
        graphs = {
            "empty": lambda: torch.zeros(size, size, dtype=torch.bool),
            "naive_bayes": lambda: naive_bayes_graph(size, device),
            "tree": lambda: tree_graph(variables),
            "tan": lambda: tan_graph(variables),
            "saturated": lambda: ~torch.eye(size, dtype=torch.bool),
        }
        graph = graphs[self.plan.start]().to(device)
        graph = (graph | fixed[:size, :size]) & ~barred[:size, :size]
        if junction_forest(graph) is None:
            raise UserFault(
                f"the start {self.plan.start} with the fixed edges and without the forbidden ones is not chordal",
                key="model.start",
                remedy="fix fewer edges, or begin with another graph (start: empty)",
            )
        return graph

    def _measure_rivals(self, state: SearchState, at: Tensor, variables: Variables, ess: float) -> None:
        model, track = at[0].tolist()
        tree = tan_graph(variables)
        if track <= 1:
            state.rival_graphs[model, : len(tree), : len(tree)] = tree
        for place, graph in enumerate((naive_bayes_graph(len(tree), tree.device), tree)):
            scores = self._scores(state, model, track, variables, graph, ess, self.plan.leaves_out)
            note(state, at, scores[None], place)

    def _scores(
        self,
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
        self._score(variables, graph, ess, scores_of(scores, state, model), leave_out)
        return scores

    def _weights(self, state: SearchState, model: int) -> Tensor | None:
        """(2 + S,) float64 of naive Bayes, the tree-augmented one and the sequence; None where nothing is stacked."""
        if state.shares is None:
            return None
        made = int((state.moves[model, 0, :, 0] >= 0).sum())
        return stack_weights(state.shares[model, : 3 + made, state.judged[model, 0]])

    def _choose(self, problem: Problem, state: SearchState, model: int) -> None:
        plan = self.plan
        made = int((state.moves[model, 0, :, 0] >= 0).sum())
        weights = self._weights(state, model)
        if weights is not None:
            self._take(state, model, (NAIVE_BAYES, TREE_AUGMENTED, *range(made + 1))[int(weights.argmax())])
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
            sequence, edges = self._judged(state, model, judges, stable, ess), [int(stable.sum()) // 2]
        else:
            sequence = state.measures[model, judges, : made + 1].sum(0)
            edges = edges_along(begun, moves[:made])
        rival_edges = [len(begun) - 1, int(state.rival_graphs[model].sum()) // 2]
        rows = int(state.judged[model].sum())
        rivals = state.rivals[model, judges].sum(0)
        place = pick(sequence, edges, rivals, rival_edges, rows, plan.select_by, plan.near)
        self._take(state, model, place, stable)

    def _judged(self, state: SearchState, model: int, judges: Sequence[int], graph: Tensor, ess: float) -> Tensor:
        """(1, 4) float64 (see Measure): a graph with the parameters of each of the tracks, on the rows that judge."""
        total = torch.zeros(1, len(Measure), dtype=torch.float64, device=graph.device)
        for track in judges:
            variables = variables_of_track(state, model, track)
            scores = self._scores(state, model, track, variables, graph, ess, leave_out=False)
            labels = state.codes[model, track, CLASS].long()
            total += measured(scores, labels, state.prior[model, track], state.judged[model, track])
        return total

    def _take(self, state: SearchState, model: int, place: int, stable: Tensor | None = None) -> None:
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


def _prior(variables: Variables) -> Tensor:
    """(K,) float64: log shares of the classes among the counted rows."""
    counted = variables.labels[variables.labels >= 0]
    counts = torch.bincount(counted, minlength=int(variables.num_values[CLASS])).double()
    return torch.log(counts / max(variables.documents, 1))
