"""Snippets as vectors: a bag of folded words beside character n-grams, both tf-idf of length 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.data.records import Chunk
from gpuclf.features.encoder import fit_encoder
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.rows import SparseRows
from gpuclf.features.views import fit_views
from gpuclf.train.summaries.lemmas import lemmas

_NOTHING = "-"  # stands for a text without a word, which no vocabulary may be empty of
WORDS = BagOfWordsOptions(token_pattern=r"\S+", lowercase=False, weighting="tfidf", norm="l2")
CHARACTERS = BagOfWordsOptions(analyzer="char_wb", ngrams=(3, 5), weighting="tfidf", norm="l2")


@dataclass(frozen=True)
class SnippetRows:
    """Rows of length 1, or without an entry: crow (snippets+1,) int64, col (nnz,) int64 below `width`, val (nnz,)
    float64. No column stands in a row twice."""

    crow: Tensor
    col: Tensor
    val: Tensor
    width: int

    def entry_rows(self) -> Tensor:
        """(nnz,) int64: the row of each entry."""
        return torch.repeat_interleave(torch.arange(self.crow.numel() - 1, device=self.crow.device), self.crow.diff())

    def select(self, rows: Tensor) -> SnippetRows:
        """These rows (n,) int64 in this order."""
        lengths = self.crow[rows + 1] - self.crow[rows]
        crow = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        owner = torch.repeat_interleave(torch.arange(rows.numel(), device=rows.device), lengths)
        entry = torch.arange(owner.numel(), device=rows.device) + (self.crow[rows] - crow[:-1])[owner]
        return SnippetRows(crow, self.col[entry], self.val[entry], self.width)

    def to(self, device: torch.device) -> SnippetRows:
        return SnippetRows(self.crow.to(device), self.col.to(device), self.val.to(device), self.width)


def snippet_rows(texts: Sequence[str], word_share: float) -> SnippetRows:
    """The vectors of all snippets of a file, with idf counted over them: cosines are word_share · the words' cosine
    + (1 - word_share) · the characters', since both parts have length 1 before they are weighed."""
    words = _rows([lemmas(text) or _NOTHING for text in texts], WORDS)
    characters = _rows([text or _NOTHING for text in texts], CHARACTERS)
    parts = [(words, word_share**0.5), (characters, (1 - word_share) ** 0.5)]
    parts = [(part, share) for part, share in parts if share > 0]
    rows = torch.cat([part.entry_rows() for part, _ in parts])
    first = [0, parts[0][0].width]
    col = torch.cat([part.col + first[place] for place, (part, _) in enumerate(parts)])
    val = torch.cat([part.val * share for part, share in parts])
    order = torch.argsort(rows, stable=True)
    lengths = torch.bincount(rows, minlength=len(texts))
    crow = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return SnippetRows(crow, col[order], val[order], sum(part.width for part, _ in parts))


def _rows(texts: list[str], options: BagOfWordsOptions) -> SnippetRows:
    count = len(texts)
    ids = [str(number) for number in range(1, count + 1)]
    _, encoded = fit_encoder([Chunk(ids, list(range(1, count + 1)), None, texts=texts)], options)
    rows = encoded.rows
    assert isinstance(rows, SparseRows)
    everything = torch.ones(1, count, dtype=torch.bool)
    views = fit_views(rows, torch.full((count,), -1), 0, everything, options)
    assert views.col_scale is not None
    col = rows.col.to(torch.int64)
    val = rows.val.double() * views.col_scale[0].double()[col]
    found = SnippetRows(rows.crow, col, val, rows.num_features + 1)
    owner = found.entry_rows()
    squares = torch.zeros(count, dtype=torch.float64).index_add_(0, owner, val * val)
    return SnippetRows(rows.crow, col, val / squares.sqrt()[owner], found.width)
