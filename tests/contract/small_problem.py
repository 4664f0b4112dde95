"""A small sparse problem with two folds, for the checks that every learner must pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from pydantic import BaseModel
from torch import Tensor

from gpuclf.features.review_words import ReviewWords
from gpuclf.features.rows import ReviewRows, Rows, SequenceRows, TokenRows, Views, rows_to
from gpuclf.models.learner import LearnerOptions, Problem, Replicas
from gpuclf.models.train_options import TrainOptions

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


def sparse_rows(x: Tensor) -> SequenceRows:
    """Rows of a dense matrix (docs, features); feature j becomes column j + 1. Each is a sentence."""
    filled = x != 0
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), filled.sum(dim=1).cumsum(0)])
    col, val = (filled.nonzero()[:, 1] + 1).to(torch.int32), x[filled].float()
    return SequenceRows(crow, col, val, x.shape[1], starts=torch.arange(len(x) + 1))


def review_rows(x: Tensor, named: Tensor) -> ReviewRows:
    """The rows as reviews of one sentence of one token. named (docs, features): the matrix by the names of features,
    which are the content words as well."""
    made, words = sparse_rows(x), sparse_rows(named)
    return ReviewRows(
        **vars(made),
        token_word=torch.where(named.sum(1) > 0, named.argmax(1), -1).int(),
        reviews=ReviewWords(made.starts, words.crow, words.col - 1, words.val, x.shape[1]),
    )


def token_rows(x: Tensor, names: Tensor) -> TokenRows:
    """The counts as sequences of words, which stand in the order of their names whatever their numbers: column j of x
    is word j + 1 of the name names[j]."""
    by_name = torch.argsort(names)
    counts = x[:, by_name].long()
    ids = (by_name + 1).to(torch.int32).repeat(len(x)).repeat_interleave(counts.flatten())
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), counts.sum(1).cumsum(0)])
    return TokenRows(ids, offsets, x.shape[1] + 1)


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
    reads: str = "sparse",
) -> Problem:
    """Replicas over two folds (views 0 and 1) and all rows (view 2). `order` permutes features, which keep their names;
    `docs` chooses rows; `reads`: tokens makes them sequences of words, reviews reviews of one token each."""
    x, y = dense_counts()
    keys = torch.arange(DOCS, dtype=torch.int64) * 7919
    part = torch.arange(DOCS) % 3 == 0
    train = torch.stack([part, ~part, torch.ones(DOCS, dtype=torch.bool)])
    if docs is not None:
        x, y, keys, train = x[docs], y[docs], keys[docs], train[:, docs]
    names = torch.arange(FEATURES) if order is None else order
    named, x = x, x[:, names]
    tokens = reads == "tokens"
    replicas = Replicas(
        torch.tensor(views),
        torch.tensor(seeds),
        {name: torch.tensor(values, dtype=torch.float64) for name, values in options.items()},
    )
    kinds = {"tokens": lambda: token_rows(x, names), "reviews": lambda: review_rows(x, named)}
    rows: Rows = kinds.get(reads, lambda: sparse_rows(x))()
    views = Views(train, seen_scale(x, train), None if tokens else torch.ones(len(train), len(y)))
    feature_keys = torch.cat([torch.zeros(1, dtype=torch.int64), names * 104729 + 1])
    made = Problem(rows, y, keys, CLASSES, views, replicas, feature_keys=feature_keys)
    return to_device(made, torch.device(device))


def to_device(made: Problem, device: torch.device) -> Problem:
    views = made.views
    scales = (None if s is None else s.to(device) for s in (views.col_scale, views.row_scale))
    return replace(
        made,
        rows=rows_to(made.rows, device),
        labels=made.labels.to(device),
        keys=made.keys.to(device),
        views=Views(views.train.to(device), *scales),
        replicas=made.replicas.to(device),
        feature_keys=None if made.feature_keys is None else made.feature_keys.to(device),
    )


def option_values(kind: type[LearnerOptions], count: int) -> dict[str, list[float]]:
    """Different values for every per-replica option of a learner, all that it may have."""
    values = {}
    for name in sorted(kind.per_replica):
        if name in kind.categories:  # the first ones; a replica has the place of a name
            values[name] = [float(place % min(3, len(kind.categories[name]))) for place in range(count)]
            continue
        section, _, option = name.partition(".")
        low, high = _bounds(TrainOptions if section == "train" else kind, option)
        spread = [low + (high - low) * (place + 1) / (count + 1) for place in range(count)]
        values[name] = spread if high < float("inf") else [0.05 * 3**place for place in range(count)]
    return values


def _bounds(kind: type[BaseModel], name: str) -> tuple[float, float]:
    """Between which numbers the option lies; 0 and infinity unless it says more."""
    marks = kind.model_fields[name].metadata
    low = [getattr(mark, sign) for mark in marks for sign in ("gt", "ge") if hasattr(mark, sign)]
    high = [getattr(mark, sign) for mark in marks for sign in ("lt", "le") if hasattr(mark, sign)]
    return max(low, default=0.0), min(high, default=float("inf"))


def all_scores(predictor: object, made: Problem) -> Tensor:
    """Scores (R, docs, K) of every document, each replica under its own view."""
    docs = torch.arange(made.labels.numel(), device=made.labels.device)
    return torch.cat([scores_under(predictor, made, docs, place) for place in range(len(made.replicas))])


def scores_under(predictor: Any, made: Problem, docs: Tensor, place: int, rows: Rows | None = None) -> Tensor:
    """Scores (1, docs, K) of one replica under its own view, of other rows than the problem's where they are given."""
    view = int(made.replicas.view[place])
    scales = (None if s is None else s[view] for s in (made.views.col_scale, made.views.row_scale))
    return predictor.scores(made.rows if rows is None else rows, docs, *scales, slice(place, place + 1))
