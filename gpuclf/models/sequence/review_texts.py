"""What the content model reads of a problem: the content words of the sentences of reviews, labelled or not."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.review_words import ReviewWords
from gpuclf.features.rows import ReviewRows
from gpuclf.models.learner import Problem
from gpuclf.ops.counter_hash import hash64, uniform
from gpuclf.ops.sparse_gradient import Columns, columns_of

_LABELLED, _UNLABELLED, _TOPIC = 1, 2, 3  # what a draw is for


@dataclass(frozen=True)
class Texts:
    """Reviews as chains of sentences, sentences as rows of counted words: see ReviewWords, but words are numbered from
    1 and counts are float64."""

    starts: Tensor
    crow: Tensor
    col: Tensor
    val: Tensor

    @classmethod
    def of(cls, words: ReviewWords) -> Texts:
        return cls(words.starts, words.crow, words.word + 1, words.count.to(torch.float64))

    @property
    def first(self) -> Tensor:
        """The first sentences of the reviews that have any."""
        return self.starts[:-1][self.starts.diff() > 0]

    @property
    def last(self) -> Tensor:
        """The last sentences of the reviews that have any."""
        return self.starts[1:][self.starts.diff() > 0] - 1


@dataclass(frozen=True)
class TrainingTexts:
    """The texts of a problem, and the same by word (`columns`, of `num_words`).

    weights (reviews, R) float64: 1 for the reviews that a replica reads, else 0. Of the reviews the first `labelled`
    ones are those of the rows, of the sentences the first `sentences`; the others have no labels.
    """

    texts: Texts
    columns: Columns
    num_words: int
    weights: Tensor
    labelled: int
    sentences: int


def review_rows(problem: Problem) -> ReviewRows:
    assert isinstance(problem.rows, ReviewRows), "content is learnt from reviews"
    return problem.rows


def words_of(rows: ReviewRows) -> ReviewWords:
    """The words of all reviews, those without labels behind the others."""
    return rows.reviews if rows.unlabelled is None else rows.reviews.joined(rows.unlabelled)


def word_columns(rows: ReviewRows) -> Columns:
    """The counted words of all sentences by word."""
    words = words_of(rows)
    return columns_of(words.crow, words.word + 1, words.count.to(torch.float64), words.num_words)


def training_texts(problem: Problem, columns: Columns) -> TrainingTexts:
    """The texts of a problem, whose `columns` are known. A replica reads the reviews that it trains on, as a whole, and
    all unlabelled ones."""
    rows = review_rows(problem)
    words = words_of(rows)
    return TrainingTexts(
        texts=Texts.of(words),
        columns=columns,
        num_words=words.num_words,
        weights=_read(problem, rows, words.num_reviews),
        labelled=rows.reviews.num_reviews,
        sentences=rows.reviews.num_sentences,
    )


def _read(problem: Problem, rows: ReviewRows, reviews: int) -> Tensor:
    """(reviews, R) float64. A review that has no token is read by nobody."""
    weights = torch.ones((reviews, len(problem.replicas)), dtype=torch.float64, device=rows.crow.device)
    bounds = rows.starts[rows.reviews.starts]
    filled = bounds.diff() > 0
    train = problem.views.train.index_select(0, problem.replicas.view)
    counts = torch.cat([train.new_zeros((len(train), 1), dtype=torch.int64), train.cumsum(1)], 1)
    seen = counts[:, bounds[1:]] - counts[:, bounds[:-1]]
    assert bool(((seen == 0) | (seen == bounds.diff())).all()), "a review is trained on as a whole, or not at all"
    weights[: rows.reviews.num_reviews] = ((seen > 0) & filled).t().to(torch.float64)
    return weights


def known_words(problem: Problem) -> Tensor:
    """(num_words+1, R) bool: the words that each replica may use; entry 0 is no word."""
    known = review_rows(problem).known_words(problem.views.train)
    known = torch.cat([known.new_zeros((known.shape[0], 1)), known], 1)
    return known.index_select(0, problem.replicas.view).t().contiguous()


def random_topics(problem: Problem, topics: int, starts: int) -> Tensor:
    """(sentences, R · starts) int64: a topic for every sentence, drawn by seed, review, place in it, and start."""
    rows = review_rows(problem)
    words = words_of(rows)
    device, labelled = rows.crow.device, rows.reviews.num_reviews
    first = rows.starts[rows.reviews.starts[:-1]].clamp(max=max(rows.num_docs - 1, 0))
    number = torch.arange(words.num_reviews - labelled, device=device)
    keys = torch.cat([hash64(_LABELLED, problem.keys[first]), hash64(_UNLABELLED, number)])
    lengths = words.starts.diff()
    place = torch.arange(words.num_sentences, device=device) - torch.repeat_interleave(words.starts[:-1], lengths)
    sentence = hash64(torch.repeat_interleave(keys, lengths), place)[:, None, None]
    seeds = problem.replicas.seed.to(device)[None, :, None]
    start = torch.arange(starts, device=device)[None, None]
    drawn = uniform(hash64(seeds.expand(1, -1, starts), _TOPIC, start, sentence))
    return (drawn * topics).long().flatten(1)
