"""Data drawn from a seed, of the sizes that users have, for benchmarks.device_figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from gpuclf.features.rows import CodeRows, SequenceRows, SparseRows, TokenRows, Views, rows_to
from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.models.learner import Problem, Replicas

CLASSES, FOLDS, MEAN_WORDS = 20, 5, 60
VALUES = (0.01, 0.1, 1.0, 10.0)  # of the option that a grid varies
ROLE_VALUES = (2_000, 60, 4_000, 3_000, 3, 3, 400)  # of the inputs of semantic roles: predicate, phrase type, head …


def to_device(problem: Problem, device: torch.device) -> Problem:
    """The problem on `device`."""
    views = problem.views
    moved = (None if part is None else part.to(device) for part in (views.col_scale, views.row_scale))
    rows = problem.rows.to(device) if isinstance(problem.rows, TypeCorpus) else rows_to(problem.rows, device)
    return replace(
        problem,
        rows=rows,
        labels=problem.labels.to(device),
        keys=problem.keys.to(device),
        views=Views(views.train.to(device), *moved),
        replicas=problem.replicas.to(device),
    )


def grid_of_texts(option: str) -> Callable[[int, int], Problem]:
    """Bags of words: four values of an option on each of five folds."""

    def made(docs: int, features: int) -> Problem:
        draw = torch.Generator().manual_seed(1)
        rows, labels = bags(docs, features, MEAN_WORDS, draw)
        return folded(rows, labels, torch.arange(docs) % FOLDS, option)

    return made


def grid_of_sentences(option: str) -> Callable[[int, int], Problem]:
    """Sentences of about 16 tokens of about 20 features: one fold, five values of an option."""

    def made(sentences: int, features: int) -> Problem:
        draw = torch.Generator().manual_seed(2)
        starts = ends(lengths(sentences, 16, draw))
        tokens = int(starts[-1])
        rows, labels = bags(tokens, features, 20, draw)
        chained = SequenceRows(rows.crow, rows.col, rows.val, features, starts=starts)
        values = {option: torch.tensor([*VALUES, 3.0], dtype=torch.float64)}
        zeros = torch.zeros(len(VALUES) + 1, dtype=torch.int64)
        return whole(chained, labels, features + 1, Replicas(zeros, zeros, values))

    return made


def seeded_texts(tokens: bool, seeds: int) -> Callable[[int, int], Problem]:
    """Bags of words, or sequences of them, and as many seeds."""

    def made(docs: int, features: int) -> Problem:
        rows, labels = bags(docs, features, 22, torch.Generator().manual_seed(3))
        replicas = Replicas(torch.zeros(seeds, dtype=torch.int64), torch.arange(seeds), {})
        if tokens:
            return whole(TokenRows(rows.col, rows.crow, features + 1), labels, features + 1, replicas)
        return whole(rows, labels, features + 1, replicas)

    return made


def tagged(chains: int, tags: int) -> Callable[[int, int], Problem]:
    """Sentences of word types, frequent ones often, with three templates of spelling; as many chains."""

    def made(sentences: int, types: int) -> Problem:
        draw = torch.Generator().manual_seed(4)
        offsets = ends(lengths(sentences, 23, draw))
        ids = skewed(int(offsets[-1]), types, draw).to(torch.int32)
        values = (500, 2, 2)
        codes = torch.stack([skewed(types, number, draw) for number in values], 1).to(torch.int32)
        none = torch.zeros(0, dtype=torch.int64)
        views = Views(torch.zeros((1, 0), dtype=torch.bool))
        replicas = Replicas(torch.zeros(chains, dtype=torch.int64), torch.arange(chains))
        return Problem(TypeCorpus(ids, offsets, codes, values), none, none, tags, views, replicas)

    return made


def roles(docs: int) -> Problem:
    """Categorical inputs with as many values as those of semantic roles; the class hangs on two of them."""
    draw = torch.Generator().manual_seed(5)
    codes = torch.stack([1 + skewed(docs, number - 1, draw) for number in ROLE_VALUES], 1).to(torch.int32)
    told = (codes[:, 1].long() * 7 + codes[:, 4].long() * 3) % CLASSES
    labels = torch.where(torch.rand(docs, generator=draw) < 0.3, skewed(docs, CLASSES, draw), told)
    rows = CodeRows(codes, ROLE_VALUES, (False,) * len(ROLE_VALUES))
    zero = torch.zeros(1, dtype=torch.int64)
    views = Views(torch.ones((1, docs), dtype=torch.bool))
    return Problem(rows, labels, torch.arange(docs), CLASSES, views, Replicas(zero, zero, {}))


def chains(replicas: int, labels: int) -> Callable[[int], tuple[Any, ...]]:
    """Arguments of chain_sums: sentences of about 16 tokens."""

    def made(sentences: int) -> tuple[Any, ...]:
        draw = torch.Generator().manual_seed(6)
        starts = ends(lengths(sentences, 16, draw))
        nodes = torch.randn(int(starts[-1]), replicas, labels, generator=draw)
        moves = torch.randn(replicas, labels, labels, generator=draw, dtype=torch.float64)
        return nodes, starts, moves, torch.ones(sentences, replicas, dtype=torch.float64)

    return made


def table(docs: int, inputs: int) -> tuple[Tensor, list[int]]:
    """Codes of inputs with two to twelve values, each hanging on the one before it."""
    draw = torch.Generator().manual_seed(7)
    number = [2 + place % 11 for place in range(inputs)]
    codes = torch.stack([skewed(docs, n, draw) for n in number], 1)
    for place in range(1, inputs):
        copied = torch.rand(docs, generator=draw) < 0.3
        codes[:, place] = torch.where(copied, codes[:, place - 1] % number[place], codes[:, place])
    return codes, number


def bags(docs: int, features: int, mean: int, draw: torch.Generator) -> tuple[SparseRows, Tensor]:
    """Rows of about `mean` features, rising in a row and each there once; labels, of which each has features of its
    own."""
    labels = torch.randint(0, CLASSES, (docs,), generator=draw)
    doc = torch.repeat_interleave(torch.arange(docs), lengths(docs, mean, draw))
    col = skewed(doc.numel(), features, draw)
    own = (labels[doc] * 37 + col * CLASSES) % features
    col = 1 + torch.where(torch.rand(doc.numel(), generator=draw) < 0.1, own, col)
    pairs, counts = torch.unique(doc * (features + 1) + col, return_counts=True)
    crow = ends(torch.bincount(pairs // (features + 1), minlength=docs))
    return SparseRows(crow, (pairs % (features + 1)).to(torch.int32), 1 + counts.float().log(), features), labels


def folded(rows: SparseRows, labels: Tensor, fold: Tensor, option: str) -> Problem:
    """A view for each fold, and all values of the option in each."""
    train = torch.stack([fold != f for f in range(FOLDS)])
    view = torch.arange(FOLDS).repeat_interleave(len(VALUES))
    values = {option: torch.tensor(VALUES, dtype=torch.float64).repeat(FOLDS)}
    views = Views(train, torch.ones(FOLDS, rows.num_features + 1), torch.full((FOLDS, len(labels)), 0.125))
    replicas = Replicas(view, torch.zeros_like(view), values)
    return Problem(rows, labels, torch.arange(len(labels)), CLASSES, views, replicas)


def whole(rows: SparseRows | TokenRows, labels: Tensor, columns: int, replicas: Replicas) -> Problem:
    """One view of all rows."""
    scale = None if isinstance(rows, TokenRows) else torch.ones(1, len(labels))
    views = Views(torch.ones((1, len(labels)), dtype=torch.bool), torch.ones(1, columns), scale)
    return Problem(rows, labels, torch.arange(len(labels)), CLASSES, views, replicas)


def lengths(number: int, mean: int, draw: torch.Generator) -> Tensor:
    """From 3 on, some of them long."""
    return 3 + torch.empty(number).exponential_(1 / max(mean - 3, 1), generator=draw).long()


def ends(sizes: Tensor) -> Tensor:
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def skewed(number: int, below: int, draw: torch.Generator) -> Tensor:
    """Whole numbers in [0, below), low ones often, as words are in texts."""
    return (torch.rand(number, generator=draw) ** 4 * below).long().clamp(max=below - 1)
