"""Encoded documents: the three records of tensors that learners work on. Below this line there are no strings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.review_words import ReviewWords
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.features.word_rows import WordRows


@dataclass(frozen=True)
class SparseRows:
    """Documents as sparse rows (CSR). Columns are 1..V, rising within a row; the offset, column 0, is not stored.

    Every learner adds the offset itself, with value 1. Values are the replica-independent part of a weight
    (count, 1, 1 + log count, a given value), never 0; what a training set teaches (idf, norm, selection)
    comes from Views.

    crow (docs+1,) int64, col (nnz,) int32, val (nnz,) float32; num_features is V, the offset not counted.
    """

    crow: Tensor
    col: Tensor
    val: Tensor
    num_features: int

    @property
    def num_docs(self) -> int:
        return self.crow.numel() - 1


@dataclass(frozen=True)
class SequenceRows(SparseRows):
    """Sparse rows that are the tokens of sentences: sentence s has rows starts[s] to starts[s + 1].

    starts (sentences+1,) int64.
    """

    starts: Tensor


@dataclass(frozen=True)
class ReviewRows(SequenceRows):
    """Sentences that make reviews, a row each token: `reviews` says which sentences, and their content words.

    token_word (docs,) int32: the content word that a token is, -1 for none (a stop word, a sign, a word that was not in
    the training reviews or the unlabelled ones). unlabelled: reviews without labels or rows, for the content model
    alone; no view holds them out, and new reviews (encoded for prediction) bring none.
    """

    token_word: Tensor
    reviews: ReviewWords
    unlabelled: ReviewWords | None = None

    def known_words(self, train: Tensor) -> Tensor:
        """(views, num_words) bool: the words that a view may use, for train (views, docs) bool as in Views. They stand
        in two reviews at least, of those that it trains on and the unlabelled ones."""
        first = self.starts[self.reviews.starts[:-1]]  # a review's first token, if it has any
        empty = self.starts[self.reviews.starts[1:]] == first
        everywhere = torch.zeros(self.reviews.num_words, dtype=torch.int64, device=self.token_word.device)
        if self.unlabelled is not None:
            everywhere += self.unlabelled.documents(torch.ones_like(self.unlabelled.starts[1:], dtype=torch.bool))
        found = []
        for mask in train:
            trained = torch.zeros_like(empty)
            trained[~empty] = mask[first[~empty]]
            found.append(everywhere + self.reviews.documents(trained) >= 2)
        return torch.stack(found)


@dataclass(frozen=True)
class CodeRows:
    """Categorical inputs as codes: (docs, inputs) int32, one vocabulary per input, 0 = unseen.

    num_values[i] counts the codes of input i, the unseen one included. ordered[i]: the codes of input i are the ranks
    of numbers, 0 a missing one (none: no input is). keys[i]: hash of its name, by which draws find it whatever the
    order of columns (none: their order counts).
    """

    codes: Tensor
    num_values: tuple[int, ...]
    ordered: tuple[bool, ...] = ()
    keys: tuple[int, ...] = ()

    @property
    def num_docs(self) -> int:
        return self.codes.shape[0]

    @property
    def num_features(self) -> int:
        """The values of all inputs."""
        return sum(self.num_values)


@dataclass(frozen=True)
class TokenRows:
    """Token sequences: ids (tokens,) int32 with offsets (docs+1,) int64; 0 = unseen; num_types counts it.

    Views say in col_scale (views, num_types) which words a training set knows: 0 makes a word an unseen one.
    """

    ids: Tensor
    offsets: Tensor
    num_types: int

    @property
    def num_docs(self) -> int:
        return self.offsets.numel() - 1

    @property
    def num_features(self) -> int:
        """The types."""
        return self.num_types


Rows = SparseRows | CodeRows | TokenRows | TypeCorpus | SenseRows | WordRows


@dataclass(frozen=True)
class Views:
    """What differs between training sets over the same rows: one view a fold (and one for all rows).

    train      (views, docs) bool: rows that the view trains on; the others are held out.
    col_scale  (views, V+1) float32: idf × selection, learnt from the view's training rows only; 0 drops a
               feature for that view (unseen there, too rare, not selected). Column 0, the offset, is 1.
    row_scale  (views, docs) float32: 1/norm of the row after col_scale, 1 where no norm is asked for, 0-norm rows 1.

    The value of feature v in document n for view f is val · col_scale[f, v] · row_scale[f, n]; the offset stays 1.
    Of token rows col_scale is 1 for known words and 0 for others; of SenseRows it holds the view's word sets, of
    WordRows those of one word after the other; these have no row_scale, codes no scales at all.
    """

    train: Tensor
    col_scale: Tensor | None = None
    row_scale: Tensor | None = None

    @property
    def num_views(self) -> int:
        return self.train.shape[0]


def concatenate_sparse(first: SparseRows, second: SparseRows) -> SparseRows:
    """The documents of `first`, then those of `second`; both encoded with the same features."""
    assert first.num_features == second.num_features
    joined = replace(
        first,
        crow=torch.cat([first.crow, second.crow[1:] + first.crow[-1]]),
        col=torch.cat([first.col, second.col]),
        val=torch.cat([first.val, second.val]),
    )
    if isinstance(joined, SequenceRows):
        assert isinstance(second, SequenceRows)
        joined = replace(joined, starts=torch.cat([joined.starts, second.starts[1:] + joined.starts[-1]]))
    if isinstance(joined, ReviewRows):
        assert isinstance(second, ReviewRows)
        words = torch.cat([joined.token_word, second.token_word])
        return replace(joined, token_word=words, reviews=joined.reviews.joined(second.reviews))
    return joined


def sparse_to(rows: SparseRows, device: torch.device) -> SparseRows:
    """The same rows on `device`."""
    moved = replace(rows, crow=rows.crow.to(device), col=rows.col.to(device), val=rows.val.to(device))
    if isinstance(moved, SequenceRows):
        moved = replace(moved, starts=moved.starts.to(device))
    if isinstance(moved, ReviewRows):
        unlabelled = None if moved.unlabelled is None else moved.unlabelled.to(device)
        words, reviews = moved.token_word.to(device), moved.reviews.to(device)
        return replace(moved, token_word=words, reviews=reviews, unlabelled=unlabelled)
    return moved


def rows_to(rows: Rows, device: torch.device) -> Rows:
    """The same rows of any kind on `device`."""
    if isinstance(rows, SparseRows):
        return sparse_to(rows, device)
    if isinstance(rows, CodeRows):
        return replace(rows, codes=rows.codes.to(device))
    if isinstance(rows, SenseRows | WordRows):
        return rows.to(device)
    return replace(rows, ids=rows.ids.to(device), offsets=rows.offsets.to(device))


def concatenate(first: Rows, second: Rows) -> Rows:
    """The documents of `first`, then those of `second`; both encoded with the same encoder."""
    if isinstance(first, SparseRows):
        assert isinstance(second, SparseRows)
        return concatenate_sparse(first, second)
    if isinstance(first, CodeRows):
        assert isinstance(second, CodeRows)
        assert first.num_values == second.num_values
        return replace(first, codes=torch.cat([first.codes, second.codes]))
    if isinstance(first, SenseRows):
        assert isinstance(second, SenseRows)
        return first.joined(second)
    if isinstance(first, WordRows):
        assert isinstance(second, WordRows)
        return first.joined(second)
    assert isinstance(second, TokenRows)
    assert first.num_types == second.num_types
    offsets = torch.cat([first.offsets, second.offsets[1:] + first.offsets[-1]])
    return replace(first, ids=torch.cat([first.ids, second.ids]), offsets=offsets)


def stored_numbers(rows: Rows) -> int:
    """How many features the documents hold: non-zeros, codes or tokens."""
    if isinstance(rows, WordRows):
        return sum(stored_numbers(part) for part in rows.parts)
    if isinstance(rows, SenseRows):
        return rows.codes.numel() + rows.word.numel()
    held = rows.col if isinstance(rows, SparseRows) else rows.codes if isinstance(rows, CodeRows) else rows.ids
    return held.numel()
