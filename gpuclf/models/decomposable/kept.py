"""From a graph, or a sequence of them, to the tables that a predictor keeps."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.models.decomposable.graph import CLASS, factors, move_factors, naive_bayes_graph
from gpuclf.models.decomposable.plan import Plan
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.selection import Measure
from gpuclf.models.decomposable.tables import Factor, count_tables
from gpuclf.models.decomposable.variables import Variables


def kept_factors(plan: Plan, graph: Tensor, begun: Tensor, moves: Tensor, ess: float) -> list[Factor]:
    """The tables of the model, of all models of the sequence where they are combined or fallen back on.

    Tables without the class are the same for all classes: only the mean over models needs them.
    """
    kept = _sequence(graph, begun, moves, plan.combine != "none") if plan.keeps_sequence else None
    if kept is None:
        kept = [Factor(members, power) for members, power in factors(graph).items()]
    if plan.combine != "mix":
        kept = [factor for factor in kept if CLASS in factor.members]
    if plan.backoff == "naive_bayes" and ess == 0:
        bayes = factors(naive_bayes_graph(len(graph), graph.device))
        kept += [Factor(members, power, family=1) for members, power in bayes.items()]
    return kept


def _sequence(graph: Tensor, begun: Tensor, moves: Tensor, to_the_end: bool) -> list[Factor] | None:
    """The tables of every model up to `graph`, or to the last; None where `graph` is none of them."""
    kept = [Factor(members, power) for members, power in factors(begun).items()]
    current = begun.clone()
    for step, (a, b) in enumerate(moves.tolist(), start=1):
        if a < 0 or (not to_the_end and bool((current == graph).all())):
            break
        kept += [Factor(members, power, joins=step) for members, power in move_factors(current, a, b).items()]
        current[a, b] = current[b, a] = ~current[a, b]
    return kept if bool((current == graph).all()) else None


def predictor_of(
    plan: Plan, variables: Variables, kept: Sequence[Factor], graph: Tensor, measures: Tensor, ess: float
) -> DecomposablePredictor:
    """A predictor of one replica; measures (S, 4) of the models of its sequence."""
    tables = count_tables(variables, kept)
    counted = variables.labels[variables.labels >= 0]
    shares = torch.bincount(counted, minlength=int(variables.num_values[CLASS])).double() / max(variables.documents, 1)
    models = 1 + max((factor.joins for factor in kept), default=0)
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
        combine=plan.combine,
        backoff=plan.backoff,
    )
