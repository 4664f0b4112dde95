"""The rows that the replicas of a problem train on, by view, and their options."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import SparseRows
from gpuclf.models.learner import Problem

_SMALL = 1 << 20  # weights of a replica up to which all is float64


@dataclass(frozen=True)
class Span:
    """Neighbouring replicas of one view: its number, its training rows (n,) int64, and its scales or None."""

    replicas: slice
    view: int
    docs: Tensor
    col_scale: Tensor | None
    row_scale: Tensor | None

    @property
    def size(self) -> int:
        return int(self.replicas.stop - self.replicas.start)


def spans_of(problem: Problem) -> list[Span]:
    """The spans of a problem's replicas, in their order; unlabelled rows train nobody."""
    views, labelled = problem.views, problem.labels >= 0
    numbers, counts = torch.unique_consecutive(problem.replicas.view, return_counts=True)
    rows: dict[int, Tensor] = {}
    spans, start = [], 0
    for view, count in zip(numbers.tolist(), counts.tolist(), strict=True):
        if view not in rows:
            rows[view] = torch.nonzero(views.train[view] & labelled).flatten()
        col_scale = None if views.col_scale is None else views.col_scale[view]
        row_scale = None if views.row_scale is None else views.row_scale[view]
        spans.append(Span(slice(start, start + count), view, rows[view], col_scale, row_scale))
        start += count
    return spans


def sparse(problem: Problem) -> SparseRows:
    assert isinstance(problem.rows, SparseRows), "the model works on sparse rows"
    return problem.rows


def option(problem: Problem, key: str, default: float) -> Tensor:
    """An option of the replicas (R,) float64."""
    like = torch.full((len(problem.replicas),), default, dtype=torch.float64)
    return problem.replicas.options.get(key, like).to(problem.labels.device)


def float_type(problem: Problem) -> torch.dtype:
    """The type to compute in: float64 for small models, where it costs nothing."""
    small = (sparse(problem).num_features + 1) * problem.num_classes <= _SMALL
    return torch.float64 if small else torch.float32
