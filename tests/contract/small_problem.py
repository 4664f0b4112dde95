"""A small sparse problem with two folds, for the checks that every learner must pass."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from gpuclf.features.rows import SparseRows, Views
from gpuclf.models.learner import LearnerOptions, Problem, Replicas

DOCS, FEATURES, CLASSES = 60, 25, 4


def dense_counts(seed: int = 0) -> tuple[Tensor, Tensor]:
    """x (docs, features) small counts with empty rows among them, y (docs,): classes with their own features."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (DOCS,), generator=draw)
    x = torch.poisson(torch.full((DOCS, FEATURES), 0.3), generator=draw)
    x[torch.arange(DOCS), y] += torch.randint(0, 3, (DOCS,), generator=draw)
    x[7] = 0
    x[-1] = 0
    return x, y


def sparse_rows(x: Tensor) -> SparseRows:
    """Rows of a dense matrix (docs, features); feature j becomes column j + 1."""
    filled = x != 0
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), filled.sum(dim=1).cumsum(0)])
    return SparseRows(crow, (filled.nonzero()[:, 1] + 1).to(torch.int32), x[filled].float(), x.shape[1])


def seen_scale(x: Tensor, train: Tensor) -> Tensor:
    """(views, features + 1): 1 for features that the view's training rows hold, else 0; the offset 1."""
    seen = torch.stack([(x[mask] != 0).any(dim=0) for mask in train]).float()
    return torch.cat([torch.ones(len(train), 1), seen], dim=1)


def problem(
    views: list[int],
    seeds: list[int],
    options: dict[str, list[float]],
    device: torch.device | str = "cpu",
    order: Tensor | None = None,
    docs: Tensor | None = None,
) -> Problem:
    """Replicas over two folds (views 0 and 1) and all rows (view 2). `order` permutes features, `docs` chooses rows."""
    x, y = dense_counts()
    keys = torch.arange(DOCS, dtype=torch.int64) * 7919
    part = torch.arange(DOCS) % 3 == 0
    train = torch.stack([part, ~part, torch.ones(DOCS, dtype=torch.bool)])
    if docs is not None:
        x, y, keys, train = x[docs], y[docs], keys[docs], train[:, docs]
    if order is not None:
        x = x[:, order]
    replicas = Replicas(
        torch.tensor(views),
        torch.tensor(seeds),
        {name: torch.tensor(values, dtype=torch.float64) for name, values in options.items()},
    )
    made = Problem(
        sparse_rows(x), y, keys, CLASSES, Views(train, seen_scale(x, train), torch.ones(len(train), len(y))), replicas
    )
    return to_device(made, torch.device(device))


def to_device(made: Problem, device: torch.device) -> Problem:
    rows, views = made.rows, made.views
    assert isinstance(rows, SparseRows)
    assert views.col_scale is not None
    assert views.row_scale is not None
    return replace(
        made,
        rows=SparseRows(rows.crow.to(device), rows.col.to(device), rows.val.to(device), rows.num_features),
        labels=made.labels.to(device),
        keys=made.keys.to(device),
        views=Views(views.train.to(device), views.col_scale.to(device), views.row_scale.to(device)),
        replicas=made.replicas.to(device),
    )


def option_values(kind: type[LearnerOptions], count: int) -> dict[str, list[float]]:
    """Different values for every per-replica option of a learner, all that it may have."""
    values = {}
    for name in sorted(kind.per_replica):
        low, high = _bounds(kind, name.partition(".")[2])
        spread = [low + (high - low) * (place + 1) / (count + 1) for place in range(count)]
        values[name] = spread if high < float("inf") else [0.05 * 3**place for place in range(count)]
    return values


def _bounds(kind: type[LearnerOptions], name: str) -> tuple[float, float]:
    """Between which numbers the option lies; 0 and infinity unless it says more."""
    marks = kind.model_fields[name].metadata
    low = [getattr(mark, sign) for mark in marks for sign in ("gt", "ge") if hasattr(mark, sign)]
    high = [getattr(mark, sign) for mark in marks for sign in ("lt", "le") if hasattr(mark, sign)]
    return max(low, default=0.0), min(high, default=float("inf"))


def all_scores(predictor: object, made: Problem) -> Tensor:
    """Scores (R, docs, K) of every document, each replica under its own view."""
    docs = torch.arange(made.labels.numel(), device=made.labels.device)
    parts = []
    assert made.views.col_scale is not None
    assert made.views.row_scale is not None
    for place, view in enumerate(made.replicas.view.tolist()):
        parts.append(
            predictor.scores(  # type: ignore[attr-defined]
                made.rows, docs, made.views.col_scale[view], made.views.row_scale[view], slice(place, place + 1)
            )
        )
    return torch.cat(parts)
