"""Moves that searches on parts of the rows agree with: stability selection (Meinshausen & Bühlmann 2010)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import Views
from gpuclf.features.sense_rows import SenseRows
from gpuclf.models.decomposable.graph import junction_forest, naive_bayes_graph, tan_graph
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.decomposable.plan import edge_masks, tracks_of
from gpuclf.models.decomposable.stability import last_moves, stable_graph, stays_chordal
from tests.models.test_decomposable import NAMES, learner, problem, scores, searched, variables


def graph_of(size: int, edges: list[tuple[int, int]]) -> Tensor:
    graph = torch.zeros(size, size, dtype=torch.bool)
    for a, b in edges:
        graph[a, b] = graph[b, a] = True
    return graph


def test_moves_stay_chordal_exactly_where_the_whole_graph_does() -> None:
    draw = torch.Generator().manual_seed(4)
    graph, seen = graph_of(7, []), {True: 0, False: 0}
    for _ in range(150):
        a, b = sorted(torch.randperm(7, generator=draw)[:2].tolist())
        moved = graph.clone()
        moved[a, b] = moved[b, a] = ~graph[a, b]
        chordal = junction_forest(moved) is not None
        assert stays_chordal(graph.numpy(), a, b) == chordal
        seen[chordal] += 1
        graph = moved if chordal else graph
    assert min(seen.values()) > 20


def test_stable_moves_are_made_in_order_and_wait_while_the_graph_would_not_be_chordal() -> None:
    moves = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 3)]
    most, few = graph_of(5, [move for move in moves if move != (0, 2)]), graph_of(5, [(0, 1), (1, 2)])
    searches = torch.stack([most, most, few])
    empty, made = graph_of(5, []), torch.tensor([*moves, (-1, -1)])
    torch.testing.assert_close(stable_graph(empty, made, searches, 0.6), most)
    torch.testing.assert_close(stable_graph(empty, made, searches, 2 / 3), most)
    torch.testing.assert_close(stable_graph(empty, made, searches, 0.7), few)
    ring = [(0, 1), (1, 2), (2, 3)]
    torch.testing.assert_close(stable_graph(empty, made[:5], searches, 0.6), graph_of(5, ring))
    full = ~torch.eye(5, dtype=torch.bool)
    gone = torch.tensor([(0, 4), (1, 4), (2, 4)])
    kept = graph_of(5, [(2, 4)])
    wanted = full.clone()
    wanted[0, 4] = wanted[4, 0] = wanted[1, 4] = wanted[4, 1] = False
    torch.testing.assert_close(stable_graph(full, gone, torch.stack([kept, kept, empty]), 0.6), wanted)
    assert last_moves(torch.tensor([(0, 1), (0, 2), (0, 1), (1, 2), (0, 2), (0, 2), (-1, -1)])) == [(1, 2), (0, 2)]


@pytest.mark.parametrize(("seed", "share"), [(2, 1.0), (3, 0.5)])
def test_the_choice_is_made_by_separate_searches_and_judged_by_separate_models(seed: int, share: float) -> None:
    made = problem(folds=1, alpha=0.3, seed=seed)
    options = {"criterion": "p_value", "select": "stability", "inner_folds": 4, "stable_share": share}
    state, predictor = searched(made, **options)
    tracks = tracks_of(learner(**options).plan, made, 0)
    parts = [replace(made, views=Views(track.train[None])) for track in tracks]
    graphs = [searched(part, criterion="p_value")[0] for part in parts]
    ends = torch.cat([one.adjacent[0] for one in graphs[1:]])
    wanted = stable_graph(graphs[0].begun[0, 0], graphs[0].moves[0, 0], ends, share)
    assert not bool((wanted & ~graphs[0].adjacent[0, 0]).any())
    if share == 1.0:
        assert int(wanted.sum()) < int(graphs[0].adjacent[0, 0].sum()), "some edge is not found everywhere"

    def fixed(part: object, graph: Tensor) -> Tensor:
        names = ("class", *NAMES)
        edges = [(names[a], names[b]) for a, b in torch.nonzero(graph.triu()).tolist()]
        assert isinstance(part, type(made))
        return scores(searched(part, direction="fixed", fixed=edges)[1], part)

    rivals = {
        0: [naive_bayes_graph(5, torch.device("cpu"))] * 4,
        1: [tan_graph(variables(part)) for part in parts[1:]],
        2: [wanted] * 4,
    }
    right = {}
    for place, each in rivals.items():
        said = [fixed(part, graph).argmax(1) for part, graph in zip(parts[1:], each, strict=True)]
        judged = [track.judged for track in tracks[1:]]
        right[place] = sum(int((s[rows] == made.labels[rows]).sum()) for s, rows in zip(said, judged, strict=True))
    best = max(right, key=lambda place: (right[place], place == 0, -int(rivals[place][0].sum())))
    chosen = [rivals[0][0], state.rival_graphs[0], wanted][best]
    assert int(state.picked[0]) == [-1, -2, -3][best]
    torch.testing.assert_close(state.chosen[0], chosen)
    torch.testing.assert_close(scores(predictor, made), fixed(made, chosen), rtol=1e-5, atol=1e-5)


def test_inputs_of_contexts_are_named_in_edges() -> None:
    none = torch.zeros(0, dtype=torch.int32)
    rows = SenseRows(none.reshape(0, 2), (3, 4), torch.zeros(1, dtype=torch.int64), none, 1, names=("pos-1", "pos+1"))
    classes, cpu = ["s", "t"], torch.device("cpu")
    found = edge_masks((("pos+1", "words:t"), ("class", "pos-1")), "model.fixed", classes, rows, 5, cpu)[0]
    torch.testing.assert_close(found, graph_of(5, [(2, 4), (0, 1)]))
    with pytest.raises(UserFault, match="names 'pos\\+9', which is no input of the contexts"):
        edge_masks((("class", "pos+9"),), "model.fixed", classes, rows, 5, cpu)


def test_a_search_that_adds_everything_has_nothing_stable() -> None:
    with pytest.raises(ValueError, match="all are stable"):
        DecomposableOptions(criterion="g2", select="stability")
    with pytest.raises(ValueError, match="stable_share would do nothing"):
        DecomposableOptions(select="cv", stable_share=0.9)
