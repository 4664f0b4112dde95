"""A small problem of reviews: ragged, one of them without a sentence, some held out, some without labels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.review_words import ReviewWords
from gpuclf.features.rows import ReviewRows, Views
from gpuclf.models.learner import Problem, Replicas

FEATURES, CLASSES, WORDS = 6, 3, 12


@dataclass(frozen=True)
class Sizes:
    """Tokens of each sentence of each review, and sentences of the reviews without labels."""

    labelled: tuple[tuple[int, ...], ...] = ((3, 2), (4,), (), (1, 3, 2), (2, 2), (5, 1, 2), (3,), (2, 4))
    unlabelled: tuple[int, ...] = (3, 1, 2)


def review_problem(
    options: dict[str, list[float]],
    seeds: tuple[int, ...],
    views: tuple[int, ...] = (),
    sizes: Sizes | None = None,
    keys: Tensor | None = None,
) -> Problem:
    """Labels follow features and the topics of sentences; view 1 holds the first and the fourth review out."""
    sizes = Sizes() if sizes is None else sizes
    draw = torch.Generator().manual_seed(11)
    sentences = [size for review in sizes.labelled for size in review]
    starts = torch.tensor([0, *itertools.accumulate(sentences)])
    tokens = int(starts[-1])
    dense = (torch.rand(tokens, FEATURES, generator=draw) < 0.5).float() * torch.rand(tokens, FEATURES, generator=draw)
    sentence = torch.repeat_interleave(starts.diff())
    topic = torch.randint(0, 3, (len(sentences),), generator=draw)
    word = topic[sentence] * 4 + torch.randint(0, 4, (tokens,), generator=draw)
    word[torch.rand(tokens, generator=draw) < 0.3] = -1
    labels = (dense[:, :CLASSES].argmax(1) + topic[sentence] // 2) % CLASSES
    place = torch.nonzero(dense)
    train = torch.ones(2, tokens, dtype=torch.bool)
    bounds = starts[torch.tensor([0, *itertools.accumulate(map(len, sizes.labelled))])]
    for held in (0, 3):
        train[1, bounds[held] : bounds[held + 1]] = False
    rows = ReviewRows(
        crow=torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)]),
        col=(place[:, 1] + 1).int(),
        val=dense[dense != 0],
        num_features=FEATURES,
        starts=starts,
        token_word=word.int(),
        reviews=_words(list(map(len, sizes.labelled)), sentence, word, len(sentences)),
        unlabelled=_unlabelled(sizes.unlabelled, draw),
    )
    replicas = Replicas(
        torch.tensor(views or (0,) * len(seeds)),
        torch.tensor(seeds),
        {f"model.{name}": torch.tensor(values, dtype=torch.float64) for name, values in options.items()},
    )
    numbers = torch.arange(tokens) * 7919 if keys is None else keys
    return Problem(rows, labels, numbers, CLASSES, Views(train), replicas)


def _words(reviews: list[int], sentence: Tensor, word: Tensor, sentences: int) -> ReviewWords:
    counts = torch.zeros(sentences, WORDS)
    known = word >= 0
    counts.index_put_((sentence[known], word[known]), torch.ones(int(known.sum())), accumulate=True)
    return _of_counts(reviews, counts)


def _of_counts(reviews: list[int], counts: Tensor) -> ReviewWords:
    place = torch.nonzero(counts)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (counts != 0).sum(1).cumsum(0)])
    starts = torch.tensor([0, *itertools.accumulate(reviews)])
    return ReviewWords(starts, crow, place[:, 1].int(), counts[counts != 0], WORDS)


def _unlabelled(sizes: tuple[int, ...], draw: torch.Generator) -> ReviewWords | None:
    if not sizes:
        return None
    return _of_counts(list(sizes), torch.poisson(torch.full((sum(sizes), WORDS), 0.3), generator=draw))
