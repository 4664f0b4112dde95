"""From a graph, or a sequence of them, to the tables that a predictor keeps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.models.decomposable.graph import CLASS, factors, move_factors, naive_bayes_graph
from gpuclf.models.decomposable.plan import Plan
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.selection import Measure
from gpuclf.models.decomposable.tables import BAYES, FALLBACK, TREE, Factor, count_tables
from gpuclf.models.decomposable.variables import Variables


def kept_factors(plan: Plan, graph: Tensor, begun: Tensor, moves: Tensor, ess: float) -> list[Factor]:
    """The tables of the model, of all models of the sequence where they are combined or fallen back on.

    Tables without the class are the same for all classes: only the mean over models of P(class, inputs) needs them.
    """
    kept: list[Factor] | None = None
    if plan.keeps_sequence:
        kept, last = _sequence(begun, moves, graph if plan.combine == "none" else None)
        if not bool((last == graph).all()):  # naive Bayes or the tree-augmented graph was taken
            kept = None
    if kept is None:
        kept = [Factor(members, power) for members, power in factors(graph).items()]
    if plan.combine != "mix":
        kept = [factor for factor in kept if CLASS in factor.members]
    return kept + _fallback(plan, graph, ess)


def stacked_factors(
    plan: Plan, tree: Tensor, begun: Tensor, moves: Tensor, weights: Tensor, ess: float
) -> list[Factor]:
    """The tables of a stack: of the sequence up to its last model with a weight, and of the rivals that have one;
    weights (2 + S,) of naive Bayes, the tree-augmented graph (V, V) `tree`, and the sequence up to there."""
    kept, _ = _sequence(begun, moves[: len(weights) - 3], None)
    for place, (family, graph) in enumerate(((BAYES, naive_bayes_graph(len(tree), tree.device)), (TREE, tree))):
        if bool(weights[place] > 0):
            kept += [Factor(members, power, family=family) for members, power in factors(graph).items()]
    return [factor for factor in kept if CLASS in factor.members] + _fallback(plan, tree, ess)


def _fallback(plan: Plan, graph: Tensor, ess: float) -> list[Factor]:
    """Naive Bayes' tables, where documents without a probability fall back on it."""
    if plan.backoff != "naive_bayes" or ess > 0:
        return []
    bayes = factors(naive_bayes_graph(len(graph), graph.device))
    return [Factor(members, power, family=FALLBACK) for members, power in bayes.items()]


def _sequence(begun: Tensor, moves: Tensor, until: Tensor | None) -> tuple[list[Factor], Tensor]:
    """The tables of every model of a search up to the graph `until`, or to its last; and the graph that it came to."""
    kept = [Factor(members, power) for members, power in factors(begun).items()]
    current = begun.clone()
    for step, (a, b) in enumerate(moves.tolist(), start=1):
        if a < 0 or (until is not None and bool((current == until).all())):
            break
        kept += [Factor(members, power, joins=step) for members, power in move_factors(current, a, b).items()]
        current[a, b] = current[b, a] = ~current[a, b]
    return kept, current


def predictor_of(
    plan: Plan,
    variables: Variables,
    kept: Sequence[Factor],
    graph: Tensor,
    measures: Tensor,
    ess: float,
    weights: Tensor | None = None,
) -> DecomposablePredictor:
    """A predictor of one replica; measures (S, 4) of the models of its sequence; weights as of `stacked_factors`."""
    tables = count_tables(variables, kept)
    counted = variables.labels[variables.labels >= 0]
    classes = int(variables.num_values[CLASS])
    shares = torch.bincount(counted, minlength=classes).double() / max(variables.documents, 1)
    if not variables.documents:
        shares = shares + 1 / classes
    models = 1 + max((factor.joins for factor in kept), default=0) if weights is None else len(weights) - 2
    precision = (measures[:, Measure.HITS] / measures[:, Measure.COVERS].clamp(min=1))[:models]
    device = graph.device
    return DecomposablePredictor(
        vars=tables.vars[None],
        power=tables.power[None],
        joins=tables.joins[None],
        family=tables.family[None],
        size=tables.size[None],
        begin=tables.begin[None],
        keys=tables.keys[None],
        counts=tables.counts[None],
        documents=torch.tensor([variables.documents], device=device),
        ess=torch.tensor([ess], dtype=torch.float64, device=device),
        seen=variables.seen[None].clone(),
        prior=torch.log(shares)[None],
        edges=torch.nonzero(graph.triu()).to(torch.int32)[None],
        models=torch.tensor([models], dtype=torch.int32, device=device),
        precision=precision[None].clone(),
        weights=None if weights is None else weights[None].clone(),
        combine=plan.combine,
        backoff=plan.backoff,
    )
