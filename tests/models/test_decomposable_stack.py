"""Models of a search stacked by weights, and how they are kept and shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from gpuclf.features.rows import CodeRows
from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.graph import factors, naive_bayes_graph, tan_graph
from gpuclf.models.decomposable.search import add_factor
from gpuclf.models.decomposable.selection import edges_along, replay
from gpuclf.models.decomposable.stacking import stack_weights
from gpuclf.models.learner import Replicas
from gpuclf.ops import cell_scores, chordal_moves, conditional_tables
from gpuclf.report.graph_facts import GraphFacts
from tests.models.test_decomposable import CLASSES, problem, scores, searched, variables


def test_the_stack_is_the_weighted_mean_of_all_models() -> None:
    """P(class | inputs) of naive Bayes, the tree-augmented one and every model of the search, by weights that EM finds
    for what each says of a training row without the row's own counts."""
    made = problem(folds=1)
    state, predictor = searched(made, combine="stack")
    held, graph = variables(made), state.begun[0, 0].clone()
    graphs = [naive_bayes_graph(5, torch.device("cpu")), tan_graph(held), graph.clone()]
    for a, b in state.moves[0, 0].tolist():
        if a >= 0:
            graph[a, b] = graph[b, a] = True
            graphs.append(graph.clone())
    parts, shares = [], []
    rows = torch.nonzero(held.labels >= 0).flatten()
    for one in graphs:
        joint, apart = (torch.zeros(held.codes.shape[1], CLASSES, dtype=torch.float64) for _ in range(2))
        for members, power in factors(one).items():
            add_factor(joint, held, members, power, 1.0)
            add_factor(apart, held, members, power, 1.0, leave_out=True)
        parts.append(torch.softmax(joint, 1))
        shares.append(torch.softmax(apart, 1)[rows, held.labels[rows]])
    weights = stack_weights(torch.stack(shares))
    assert len(parts) > 4
    assert int((weights > 0).sum()) > 1
    wanted = torch.log((weights[:, None, None] * torch.stack(parts)).sum(0))
    torch.testing.assert_close(wanted.float(), scores(predictor, made), rtol=1e-4, atol=1e-4)
    assert int(state.picked[0]) == [-1, -2, *range(len(graphs))][int(weights.argmax())]


def test_weights_of_a_stack_are_the_likeliest() -> None:
    """Against all weights of a fine grid; models that only repeat others, or say nothing, do not matter."""
    draw = torch.Generator().manual_seed(2)
    shares = torch.rand(3, 60, generator=draw, dtype=torch.float64)
    found = stack_weights(shares)
    assert float(found.sum()) == pytest.approx(1.0)
    grid = torch.tensor([[a, b, 100 - a - b] for a in range(101) for b in range(101 - a)]).double() / 100
    likelihood = torch.log(grid @ shares).sum(1)
    assert float(torch.log(found @ shares).sum()) == pytest.approx(float(likelihood.max()), abs=0.02)
    torch.testing.assert_close(stack_weights(torch.zeros(4, 0)), torch.full((4,), 0.25).double())
    again = stack_weights(torch.cat([shares[:1], shares[:1], shares[1:]]))
    torch.testing.assert_close(again, torch.cat([found[:1], torch.zeros(1).double(), found[1:]]))
    one = stack_weights(torch.stack([torch.full((9,), 0.9), torch.full((9,), 0.1), torch.zeros(9)]))
    torch.testing.assert_close(one, torch.tensor([1.0, 0.0, 0.0]).double())


def test_without_a_prior_any_model_covers_a_document() -> None:
    made = problem(folds=1, rows=60, ess=0.0)
    _, last = searched(made, criterion="g2", ess=0.0)
    _, stack = searched(made, criterion="g2", ess=0.0, combine="stack")
    docs = torch.arange(60)
    alone, together = (one.flagged(made.rows, docs, None, None)[0] for one in (last, stack))
    assert int(together.sum()) < int(alone.sum())
    assert not bool((together & ~alone).any())
    found = scores(stack, made)
    assert not bool(torch.isnan(found).any())
    torch.testing.assert_close(torch.logsumexp(found[~together], 1), torch.zeros(int((~together).sum())))


def test_the_weights_are_told() -> None:
    lines = GraphFacts(["class", "form", "size"], [(0, 1)], "stack", 2, (0.2, 0.0, 0.3, 0.5)).lines()
    assert lines[0] == "The mean of P(class | inputs) over 3 models, by weights:"
    assert lines[1:4] == ["  0.500 the search after 1 move", "  0.300 the search after 0 moves", "  0.200 naive Bayes"]


@pytest.mark.parametrize("options", [{"combine": "stack"}, {"criterion": "exact", "permutations": 9, "max_edges": 3}])
def test_the_references_make_the_same_search(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices without kernels of their own run the references of all ops."""
    made = problem(folds=1, rows=60, alpha=0.05)
    state, predictor = searched(made, **options)
    for op in (chordal_moves, conditional_tables, cell_scores):
        monkeypatch.setattr(op, "_KERNELS", {})
    other, same = searched(made, **options)
    torch.testing.assert_close(other.moves, state.moves)
    torch.testing.assert_close(scores(same, made), scores(predictor, made))


def test_criteria_of_one_batch_are_each_alone() -> None:
    made, names = problem(folds=2, alpha=0.05), ("bic", "aic", "g2", "ic")
    view = torch.arange(2).repeat_interleave(len(names))
    held = {key: value[:1].expand(len(view)) for key, value in made.replicas.options.items()}
    held["model.criterion"] = torch.tensor([CRITERIA.index(name) for name in names] * 2).double()
    batch = replace(made, replicas=Replicas(view, torch.zeros_like(view), held))
    _, together = searched(batch)
    docs = torch.arange(160)
    for place, name in enumerate(names * 2):
        alone = replace(made, replicas=made.replicas.take(view[place : place + 1]))
        _, one = searched(alone, criterion=name)
        found = together.scores(made.rows, docs, None, None, slice(place, place + 1))
        torch.testing.assert_close(found, one.scores(made.rows, docs, None, None), rtol=0, atol=0)


def test_edges_along_a_search_are_those_of_its_graphs() -> None:
    state, _ = searched(problem(folds=1, alpha=0.2), direction="both", criterion="p_value", start="tan")
    begun, moves = state.begun[0, 0], state.moves[0, 0]
    made = int((moves[:, 0] >= 0).sum())
    wanted = [int(replay(begun, moves, upto).sum()) // 2 for upto in range(made + 1)]
    assert edges_along(begun, moves[:made]) == wanted
    assert wanted != sorted(wanted)


def test_memory_follows_the_rows_and_not_the_product_space() -> None:
    """A clique of ten inputs of 300 values each: 10^25 cells, of which no more are kept than there are rows."""
    draw = torch.Generator().manual_seed(7)
    codes = torch.randint(1, 300, (50, 10), generator=draw, dtype=torch.int32)
    made = problem(folds=1, rows=50)
    made = replace(made, rows=CodeRows(codes, (300,) * 10))
    state, predictor = searched(made, direction="fixed", start="saturated")
    rows = int(made.views.train[0].sum())
    assert int(state.adjacent.sum()) == 11 * 10
    assert int(predictor.vars.shape[1]) == 1
    assert predictor.counts.numel() <= rows
    assert not bool(torch.isnan(scores(predictor, made)).any())
