"""Growing forests: a step is a portion of the trees of every replica. Tree t of many is tree t of few."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.forest.coded import Layout, coded, layout
from gpuclf.models.forest.inputs_tried import inputs_tried
from gpuclf.models.forest.numbers import number_bins, widened
from gpuclf.models.forest.predictor import TIE_MASS, ForestPredictor
from gpuclf.models.forest.samples import (
    ValueReduction,
    bootstrap_weights,
    class_weights,
    tie_order,
    value_mapping,
    whole_weights,
)
from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import padded_like, replica_field
from gpuclf.ops.forest_votes import Forests, forest_votes
from gpuclf.ops.grow_forest import MOST_ROWS, PADDING, GrowthRules, Trees, grow_forest, tree_keys

_GROWN = ("input", "left", "first", "size", "rows", "values")


@dataclass(frozen=True)
class ForestState:
    """Trees so far (see ForestPredictor), and what does not change: class_weight (R, K), counts (R, K), mapping.

    nodes, depth (R,) int64: of all trees together, and of the deepest. bag_votes (R, docs, K) float32: votes of the
    trees that a row was left out of.
    """

    input: Tensor = replica_field(fill=PADDING)
    left: Tensor = replica_field(fill=0)
    first: Tensor = replica_field(fill=0)
    size: Tensor = replica_field(fill=0)
    rows: Tensor = replica_field(fill=0)
    values: Tensor = replica_field(fill=0)
    gain: Tensor = replica_field()
    nodes: Tensor = replica_field()
    depth: Tensor = replica_field()
    counts: Tensor = replica_field()
    mapping: Tensor = replica_field()
    trees: int = 0
    bag_votes: Tensor | None = replica_field(optional=True)


@dataclass(frozen=True)
class Forest:
    """The learner; options as in ForestOptions. class_weight: by class, or balanced."""

    rules: GrowthRules
    max_features: int | float | str | None = None
    trees: int = 128
    portion: int = 8
    bootstrap: bool = False
    class_weight: Literal["balanced"] | tuple[float, ...] | None = None
    soft: bool = False
    unseen: str = "rest"
    reduction: ValueReduction = field(default_factory=ValueReduction)
    n_bins: int | None = None

    def init(self, problem: Problem) -> ForestState:
        """No trees; the class counts and values of every replica's training rows."""
        device, replicas = problem.labels.device, len(problem.replicas)
        inputs = layout(problem.rows)
        if not inputs.num_values:
            raise UserFault("a forest needs an input, and the data have none", key="features")
        counts = torch.stack([self._counts(problem, int(view)) for view in problem.replicas.view])
        if not bool((counts.sum(1) > 0).all()):
            raise UserFault("a training set has no labelled document", remedy="give more data or fewer folds")
        if int(counts.sum(1).max()) > MOST_ROWS:
            raise UserFault(f"a tree takes {MOST_ROWS:,} documents at most", remedy="set data.limit")
        mapping = torch.stack([self._mapping(problem, inputs, int(view)) for view in problem.replicas.view])
        nothing = torch.zeros(replicas, 0, 1, dtype=torch.int32, device=device)
        zeros = torch.zeros(replicas, dtype=torch.int64, device=device)
        votes = None
        if self.bootstrap:
            votes = torch.zeros(replicas, problem.labels.numel(), problem.num_classes, device=device)
        return ForestState(
            input=nothing,
            left=nothing,
            first=nothing,
            size=nothing,
            rows=nothing,
            values=nothing,
            gain=torch.zeros(replicas, len(inputs.num_values), dtype=torch.float64, device=device),
            nodes=zeros,
            depth=zeros,
            counts=counts,
            mapping=mapping,
            bag_votes=votes,
        )

    def step(self, problem: Problem, state: ForestState) -> ForestState:
        """The next portion of trees."""
        inputs, views = layout(problem.rows), problem.replicas.view
        numbers = torch.arange(state.trees, min(self.trees, state.trees + self.portion), device=views.device)
        grown: list[Trees] = []
        votes = []
        for replica, view in enumerate(views.tolist()):
            codes = self._codes(problem, inputs, view, state.mapping[replica])
            keys = tree_keys(problem.replicas.seed[replica], numbers)
            member = _member(problem, view)
            wide = widened(codes, inputs.num_values, inputs.ordered, member)
            rules = replace(self.rules, max_features=inputs_tried(self.max_features, len(wide.owner)))
            times, unit = whole_weights(problem.weights, member)
            weight = times[None] * bootstrap_weights(member, keys) if self.bootstrap else times[None]
            sample = torch.arange(len(keys), device=keys.device) if self.bootstrap else torch.zeros_like(keys)
            by_class = (
                class_weights(state.counts[replica][None], self.class_weight).expand(len(weight), -1).contiguous()
            )
            trees = wide.narrowed(
                grow_forest(wide.table, problem.labels.clamp(min=0), weight, sample, by_class, keys, _in(rules, unit))
            )
            grown.append(trees)
            if self.bootstrap:
                votes.append(self._bag_votes(trees, codes, inputs, weight, member, problem.num_classes))
        return self._extended(state, grown, votes, len(numbers))

    def _extended(self, state: ForestState, grown: list[Trees], votes: list[Tensor], count: int) -> ForestState:
        """The state with the new trees of every replica."""
        fills = {item.name: item.metadata["fill"] for item in fields(ForestState) if "fill" in item.metadata}
        changes: dict[str, Tensor] = {}
        for name in _GROWN:
            new = torch.stack(padded_like([getattr(trees, name) for trees in grown], fills[name]))
            changes[name] = torch.cat(padded_like([getattr(state, name), new], fills[name], from_axis=2), dim=1)
        device = state.nodes.device
        deepest = torch.stack([trees.depth.max() for trees in grown]).to(device, torch.int64)
        return replace(
            state,
            **changes,
            gain=state.gain + torch.stack([trees.gain.sum(0) for trees in grown]),
            nodes=state.nodes + torch.stack([trees.nodes.sum() for trees in grown]).to(device, torch.int64),
            depth=torch.maximum(state.depth, deepest),
            trees=state.trees + count,
            bag_votes=None if state.bag_votes is None else state.bag_votes + torch.stack(votes),
        )

    def finished(self, problem: Problem, state: ForestState) -> Tensor:
        """Whether all trees are grown."""
        return torch.full((len(problem.replicas),), state.trees >= self.trees)

    def result(self, problem: Problem, state: ForestState) -> ForestPredictor:
        """The forest of the trees so far."""
        trees = torch.full_like(state.nodes, state.trees, dtype=torch.int32)
        return ForestPredictor(
            **{name: getattr(state, name) for name in _GROWN},
            trees=trees,
            tie=tie_order(state.counts),
            mapping=state.mapping,
            gain=state.gain,
            soft=self.soft,
            unseen=self.unseen,
            reduced=bool(self.reduction),
        )

    def alternatives(self, problem: Problem, state: ForestState) -> dict[str, ForestPredictor]:
        """None: every tree counts."""
        return {}

    def progress(self, problem: Problem, state: ForestState) -> dict[str, Tensor]:
        """Trees, nodes a tree, the deepest tree; with bootstrap the accuracy on rows left out."""
        figures = {
            "trees": torch.full_like(state.nodes, state.trees),
            "nodes": state.nodes.to(torch.float64) / max(1, state.trees),
            "depth": state.depth,
        }
        if state.bag_votes is not None:
            figures["oob_accuracy"] = self._bag_accuracy(problem, state.bag_votes, state.counts)
        return figures

    def _counts(self, problem: Problem, view: int) -> Tensor:
        member = _member(problem, view)
        times, _ = whole_weights(problem.weights, member)
        counts = torch.zeros(problem.num_classes, dtype=torch.int64, device=times.device)
        return counts.index_add_(0, problem.labels[member], times[member].long())

    def _mapping(self, problem: Problem, inputs: Layout, view: int) -> Tensor:
        scale = None if problem.views.col_scale is None else problem.views.col_scale[view]
        codes = coded(problem.rows, inputs, None, scale)
        member = _member(problem, view)
        mapping = value_mapping(codes, problem.labels, member, inputs, self.reduction, problem.num_classes)
        if self.n_bins is None:
            return mapping
        bins = number_bins(codes, whole_weights(problem.weights, member)[0], inputs, self.n_bins)
        return torch.where(inputs.of_numbers(mapping.device), bins, mapping)

    def _codes(self, problem: Problem, inputs: Layout, view: int, mapping: Tensor) -> Tensor:
        """Codes of all rows as the replica sees them."""
        scale = None if problem.views.col_scale is None else problem.views.col_scale[view]
        codes = coded(problem.rows, inputs, None, scale)
        changed = self.reduction or self.n_bins is not None
        return mapping[inputs.base[:-1].to(codes.device) + codes] if changed else codes

    def _bag_votes(
        self, trees: Trees, codes: Tensor, inputs: Layout, weight: Tensor, member: Tensor, classes: int
    ) -> Tensor:
        """(docs, K) float32: votes of each tree for the training rows that its sample has not."""
        votes = torch.zeros(member.numel(), classes, device=codes.device)
        base = inputs.base.to(codes.device)
        for number in range(len(weight)):
            docs = torch.nonzero(member & (weight[number] == 0)).flatten()
            parts = {name: getattr(trees, name)[None, number : number + 1] for name in _GROWN}
            one = Forests(**parts, base=base)
            votes[docs] += forest_votes(one, codes, docs, classes, self.soft, "rest", None)[0].to(votes.dtype)
        return votes

    def _bag_accuracy(self, problem: Problem, votes: Tensor, counts: Tensor) -> Tensor:
        """(R,) float64: right rows of those that any tree left out; 0 while there are none."""
        judged = votes.sum(-1) > 0
        said = (votes + TIE_MASS * tie_order(counts)[:, None]).argmax(-1)
        right = ((said == problem.labels) & judged).sum(1)
        return right.to(torch.float64) / judged.sum(1).clamp(min=1)


def _member(problem: Problem, view: int) -> Tensor:
    """(docs,) bool: the labelled training rows of a view; those of weight 0 are none."""
    member = problem.views.train[view] & (problem.labels >= 0)
    return member if problem.weights is None else member & (problem.weights > 0)


def _in(rules: GrowthRules, unit: int) -> GrowthRules:
    """The rules where a row that counts once has the weight `unit`; limits at their default go on limiting nothing."""
    none = GrowthRules()
    names = ("min_samples_leaf", "min_samples_split", "min_category_rows")
    limits = {name: unit * getattr(rules, name) for name in names if getattr(rules, name) != getattr(none, name)}
    return replace(rules, smoothing=unit * rules.smoothing, **limits)
