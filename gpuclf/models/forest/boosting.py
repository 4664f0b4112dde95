"""Boosting trees of gradients: the multi-class logistic loss (Friedman 2001, LK_TreeBoost) with second-order steps."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.forest.boosted_predictor import BoostedPredictor
from gpuclf.models.forest.coded import Layout, coded, layout
from gpuclf.models.forest.inputs_tried import inputs_tried
from gpuclf.models.forest.numbers import number_bins, widened
from gpuclf.models.forest.samples import whole_weights
from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import padded_like, replica_field
from gpuclf.ops.add_rows import add_rows
from gpuclf.ops.boost_round import SCALE_BITS, BoostRules, BoostTrees, boost_round
from gpuclf.ops.class_slopes import ClassSlopes, class_slopes
from gpuclf.ops.counter_hash import hash64
from gpuclf.ops.distinct_rows import distinct_rows
from gpuclf.ops.grow_forest import PADDING

MOST_WEIGHT = 127  # of a row: its gradient times 2^SCALE_BITS has to fit in 32 bits
_ROUND = -2  # what is hashed between the seed and the number of a round: trees of forests are numbered from 0
_SAMPLE = -3
_GROWN = ("input", "left", "first", "size", "values", "leaf")


@dataclass(frozen=True)
class BoostingState:
    """Trees so far (see BoostedPredictor); scores (R, docs, K) float64 of the training rows; loss (R,) float64: mean
    log loss of these; nodes (R,) int64: of all trees together; bins (R, all values) int32: see number_bins."""

    input: Tensor = replica_field(fill=PADDING)
    left: Tensor = replica_field(fill=0)
    first: Tensor = replica_field(fill=0)
    size: Tensor = replica_field(fill=0)
    values: Tensor = replica_field(fill=0)
    leaf: Tensor = replica_field(fill=0)
    start: Tensor = replica_field()
    scores: Tensor = replica_field()
    gain: Tensor = replica_field()
    nodes: Tensor = replica_field()
    loss: Tensor = replica_field()
    rounds: int = 0
    bins: Tensor | None = replica_field(optional=True)


@dataclass(frozen=True)
class Boosting:
    """The learner. rounds: at most; portion: rounds a step; learning_rate shrinks every leaf.

    max_features: inputs that a round may split on, drawn for each round (all classes' trees share them); None: half of
    them, but two.
    sampling: a row takes part in a class's tree with probability |gradient| / sampling, 1 at most, and then weighs as
    much more (importance sampling; after Ibragimov & Gusev 2019); 0: all rows do.
    """

    rounds: int = 128
    portion: int = 1
    learning_rate: float = 0.2
    max_features: int | float | str | None = None
    sampling: float = 0.0
    rules: BoostRules = field(default_factory=BoostRules)
    n_bins: int | None = None

    def init(self, problem: Problem) -> BoostingState:
        """No trees: every row has the log shares of the classes in its replica's training rows."""
        device, replicas, inputs = problem.labels.device, len(problem.replicas), layout(problem.rows)
        if not inputs.num_values:
            raise UserFault("boosting needs an input, and the data have none", key="features")
        members = [_member(problem, int(view)) for view in problem.replicas.view]
        counts = torch.stack([_counts(problem, member) for member in members])
        if not bool((counts.sum(1) > 0).all()):
            raise UserFault("a training set has no labelled document", remedy="give more data or fewer folds")
        start = (counts / counts.sum(1, keepdim=True)).log().to(torch.float32)
        nothing = torch.zeros(replicas, 0, 1, dtype=torch.int32, device=device)
        zeros = torch.zeros(replicas, dtype=torch.int64, device=device)
        scores = start.double()[:, None].expand(-1, problem.labels.numel(), -1).contiguous()
        return BoostingState(
            input=nothing,
            left=nothing,
            first=nothing,
            size=nothing,
            values=nothing,
            leaf=nothing.to(torch.float32),
            start=start,
            scores=scores,
            gain=torch.zeros(replicas, len(inputs.num_values), dtype=torch.float64, device=device),
            nodes=zeros,
            loss=torch.zeros(replicas, dtype=torch.float64, device=device),
            bins=self._bins(problem, inputs, members),
        )

    def step(self, problem: Problem, state: BoostingState) -> BoostingState:
        """The next rounds. Scores are updated in place."""
        last = min(self.rounds, state.rounds + self.portion)
        grown = [self._round(problem, state, number) for number in range(state.rounds, last)]
        state = self._extended(state, grown)
        return replace(state, loss=self._losses(problem, state))

    def _round(self, problem: Problem, state: BoostingState, number: int) -> list[BoostTrees]:
        """The trees of round `number`, by replica."""
        inputs = layout(problem.rows)
        grown = []
        for replica, view in enumerate(problem.replicas.view.tolist()):
            rows = torch.nonzero(_member(problem, view)).flatten()
            codes = _codes(problem, inputs, view)
            if state.bins is not None:
                codes = state.bins[replica][inputs.base[:-1].to(codes.device) + codes]
            seed = int(problem.replicas.seed[replica])
            chosen = self._chosen(len(inputs.num_values), seed, number)
            part = codes if len(chosen) == codes.shape[1] else codes[:, chosen.to(codes.device)].contiguous()
            groups = distinct_rows(part, rows)
            ordered = rows[groups.order]
            slopes = class_slopes(
                state.scores[replica],
                problem.labels,
                ordered,
                groups.begin,
                None if problem.weights is None else problem.weights[ordered],
                self.sampling,
                hash64(seed, _SAMPLE, number, problem.keys[ordered]),
                float(1 << SCALE_BITS),
            )
            trees = self._trees(groups.codes, chosen, inputs, slopes)
            steps = self.learning_rate * trees.change.double()
            add_rows(state.scores[replica], rows, steps, groups.group)
            grown.append(replace(trees, change=trees.change[:0]))
        return grown

    def _chosen(self, count: int, seed: int, number: int) -> Tensor:
        """(m,) int64: of so many inputs those of round `number`, of the lowest hashes."""
        order = torch.argsort(hash64(seed, _ROUND, number, torch.arange(count)), stable=True)
        tried = max(2, count // 2) if self.max_features is None else inputs_tried(self.max_features, count)
        return order[:tried].sort().values

    def _bins(self, problem: Problem, inputs: Layout, members: list[Tensor]) -> Tensor | None:
        """Bins of the numbers of every replica; None without n_bins or numbers."""
        if self.n_bins is None or not any(inputs.ordered):
            return None
        found = []
        for member, view in zip(members, problem.replicas.view.tolist(), strict=True):
            times, _ = whole_weights(problem.weights, member)
            found.append(number_bins(_codes(problem, inputs, view), times, inputs, self.n_bins))
        return torch.stack(found)

    def _losses(self, problem: Problem, state: BoostingState) -> Tensor:
        """(R,) float64: mean log loss of the training rows of every replica."""
        losses = []
        for replica, view in enumerate(problem.replicas.view.tolist()):
            rows = torch.nonzero(_member(problem, view)).flatten()
            weights = None if problem.weights is None else problem.weights[rows]
            losses.append(log_loss(state.scores[replica, rows], problem.labels[rows], weights))
        return torch.stack(losses)

    def _trees(self, codes: Tensor, chosen: Tensor, inputs: Layout, slopes: ClassSlopes) -> BoostTrees:
        """The trees on groups of rows, whose codes are those of the inputs `chosen`."""
        places, count = chosen.tolist(), len(inputs.num_values)
        values = tuple(inputs.num_values[i] for i in places)
        cut = tuple(inputs.ordered[i] for i in places)
        wide = widened(codes, values, cut, torch.arange(len(codes), device=codes.device))
        table = wide.table
        trees = wide.narrowed(boost_round(table.codes, table.num_values, table.ordered, slopes, self.rules))
        own = chosen.to(device=codes.device, dtype=torch.int32)
        gain = torch.zeros(count, dtype=torch.float64, device=codes.device)
        return replace(
            trees,
            input=torch.where(trees.input >= 0, own[trees.input.clamp(min=0).long()], trees.input),
            gain=gain.index_copy(0, chosen.to(codes.device), trees.gain),
        )

    def _extended(self, state: BoostingState, rounds: list[list[BoostTrees]]) -> BoostingState:
        """The state with the trees of some rounds, of every replica."""
        fills = {item.name: item.metadata["fill"] for item in fields(BoostingState) if "fill" in item.metadata}
        changes: dict[str, Tensor] = {}
        for name in _GROWN:
            scale = self.learning_rate if name == "leaf" else 1
            parts = [getattr(state, name)]
            parts += [torch.stack(padded_like([scale * getattr(t, name) for t in of], fills[name])) for of in rounds]
            changes[name] = torch.cat(padded_like(parts, fills[name], from_axis=2), dim=1)
        gain, nodes = state.gain, state.nodes
        for grown in rounds:
            gain = gain + torch.stack([trees.gain for trees in grown])
            nodes = nodes + torch.stack([trees.nodes.sum() for trees in grown])
        return replace(state, **changes, gain=gain, nodes=nodes, rounds=state.rounds + len(rounds))

    def finished(self, problem: Problem, state: BoostingState) -> Tensor:
        """Whether all rounds are done."""
        return torch.full((len(problem.replicas),), state.rounds >= self.rounds)

    def result(self, problem: Problem, state: BoostingState) -> BoostedPredictor:
        """The model of the rounds so far."""
        trees = torch.full_like(state.nodes, state.rounds * problem.num_classes, dtype=torch.int32)
        parts = {name: getattr(state, name) for name in _GROWN}
        return BoostedPredictor(**parts, trees=trees, start=state.start, gain=state.gain)

    def alternatives(self, problem: Problem, state: BoostingState) -> dict[str, BoostedPredictor]:
        """None."""
        return {}

    def progress(self, problem: Problem, state: BoostingState) -> dict[str, Tensor]:
        """Rounds, nodes a tree, and the mean log loss of the training rows."""
        trees = max(1, state.rounds * problem.num_classes)
        return {
            "rounds": torch.full_like(state.nodes, state.rounds),
            "nodes": state.nodes.to(torch.float64) / trees,
            "loss": state.loss,
        }


def log_loss(scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean of -log P(label), from scores (rows, K), by weights (rows,)."""
    lost = -scores.log_softmax(dim=1).gather(1, labels[:, None])[:, 0]
    return lost.mean() if weights is None else (lost * weights).sum() / weights.sum()


def _member(problem: Problem, view: int) -> Tensor:
    """(docs,) bool: the labelled training rows of a view; those of weight 0 are none."""
    member = problem.views.train[view] & (problem.labels >= 0)
    if problem.weights is None:
        return member
    most = float(problem.weights[member].max()) if bool(member.any()) else 0.0
    if most > MOST_WEIGHT:
        raise UserFault(
            f"a document of weight {most:g} is beyond {MOST_WEIGHT}, the most that boosting takes",
            remedy="divide all weights by the same number",
        )
    return member & (problem.weights > 0)


def _counts(problem: Problem, member: Tensor) -> Tensor:
    """(K,) float64: weights of the classes."""
    weights = torch.ones_like(problem.labels) if problem.weights is None else problem.weights
    counts = torch.zeros(problem.num_classes, dtype=torch.float64, device=member.device)
    return counts.index_add_(0, problem.labels[member], weights[member].to(torch.float64))


def _codes(problem: Problem, inputs: Layout, view: int) -> Tensor:
    scale = None if problem.views.col_scale is None else problem.views.col_scale[view]
    return coded(problem.rows, inputs, None, scale)
