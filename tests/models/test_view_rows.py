"""The matrices that optimisers work on have the scores and lengths of the features they stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from gpuclf.features.rows import Views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.view_rows import ViewRows, view_rows
from tests.models.test_regularised import data, problem


def two_views() -> tuple[Problem, Tensor]:
    """A problem of two folds with scales of their own, and its rows (views, docs, V) under them, held-out ones 0."""
    x, y = data(docs=30, features=50, seed=2)
    x = x * (torch.rand(x.shape, generator=torch.Generator().manual_seed(4)) < 0.15)
    x[7] = 0
    train = torch.ones(2, 30, dtype=torch.bool)
    train[0, ::3], train[1, 1::3] = False, False
    draw = torch.Generator().manual_seed(6)
    col_scale, row_scale = torch.rand(2, 51, generator=draw) + 0.5, torch.rand(2, 30, generator=draw) + 0.5
    col_scale[:, 0], col_scale[1, 5] = 1, 0
    view = torch.arange(2)
    made = problem(x, y)
    made = replace(made, views=Views(train, col_scale, row_scale), replicas=Replicas(view, torch.zeros(2).long()))
    dense = x * col_scale[:, None, 1:] * row_scale[..., None] * train[..., None]
    return made, dense.double()


def by_row(made: ViewRows, view: int, docs: int) -> Tensor:
    """The matrix (docs, width) written out."""
    dense = torch.zeros(docs, made.width, dtype=torch.float64)
    for n in range(docs):
        inside = slice(int(made.crow[view, n]), int(made.crow[view, n + 1]))
        dense[n, made.col[inside].long() - 1] = made.val[inside]
    return dense


@pytest.mark.parametrize("merge", [True, False])
def test_scores_and_lengths_stay(merge: bool) -> None:
    made, dense = two_views()
    compact = view_rows(made, torch.float64, merge=merge)
    weights = torch.randn(compact.width + 1, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for view in range(2):  # columns that a view does not fill have weights of 0
        weights[1:, view] *= (by_row(compact, view, 30) != 0).any(0)[:, None]
    wide = compact.expanded(weights, torch.arange(2)).double()
    assert torch.equal(wide[0], weights[0].float().double())
    for view in range(2):
        narrow = by_row(compact, view, 30)
        torch.testing.assert_close(dense[view] @ wide[1:, view], narrow @ weights[1:, view], rtol=0, atol=1e-5)
        torch.testing.assert_close(dense[view] @ dense[view].T, narrow @ narrow.T, rtol=0, atol=1e-6)
        torch.testing.assert_close(wide[1:, view].norm(), weights[1:, view].norm(), rtol=1e-6, atol=0)
        frequency = (narrow != 0).sum(0)
        if merge:
            alone = (dense[view] != 0).sum(0) == 1
            assert int(alone.sum()) > 5
            assert int((frequency == 1).sum()) == len({int((dense[view][:, v] != 0).int().argmax()) for v in
                                                       torch.nonzero(alone).flatten()})  # fmt: skip
        else:
            assert int((frequency > 0).sum()) == int((dense[view] != 0).any(0).sum())
            assert bool((frequency[:-1] >= frequency[1:]).all())


@pytest.mark.parametrize("merge", [True, False])
def test_columns_are_the_rows_turned(merge: bool) -> None:
    made, _ = two_views()
    compact = view_rows(made, torch.float64, merge=merge)
    for view in range(2):
        columns, dense = compact.columns(view), torch.zeros(30, compact.width, dtype=torch.float64)
        for v in range(1, compact.width + 1):
            inside = slice(int(columns.start[v]), int(columns.start[v + 1]))
            dense[columns.doc[inside].long(), v - 1] = columns.val[inside]
        assert torch.equal(dense, by_row(compact, view, 30))


def test_a_fold_has_the_matrix_of_its_rows_alone() -> None:
    made, _ = two_views()
    both = view_rows(made, torch.float32, merge=True)
    one = view_rows(replace(made, replicas=made.replicas.take(torch.tensor([1]))), torch.float32, merge=True)
    begin = int(both.crow[1, 0])
    assert torch.equal(both.crow[1] - begin, one.crow[1])
    assert torch.equal(both.col[begin:], one.col)
    assert torch.equal(both.val[begin:], one.val)
    assert torch.equal(both.share[1], one.share[1])
