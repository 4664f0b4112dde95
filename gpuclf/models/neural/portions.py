"""The documents of an epoch in the order of their visit, laid out so that a portion of them is a slice."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows, SparseRows, TokenRows


@dataclass(frozen=True)
class Entries:
    """Documents as rows of the first layer's table: row i sums val[j] · table[col[j]] over crow[i] ≤ j < crow[i + 1].

    Of sparse rows a document is a row; of token rows a word is one, with `gap` empty rows before each document and
    after the last. begin (docs+1,) int64: the row of each document, and where a further one would be; lengths (docs,)
    int64: words of each document (of sparse rows 1).
    """

    crow: Tensor
    col: Tensor
    val: Tensor
    begin: Tensor
    lengths: Tensor
    gap: int

    def part(self, start: int, stop: int) -> Entries:
        """The documents start … stop - 1."""
        first, last = int(self.begin[start]) - self.gap, int(self.begin[stop])
        crow = self.crow[first : last + 1]
        held = slice(int(crow[0]), int(crow[-1]))
        begin = self.begin[start : stop + 1] - first
        return Entries(crow - crow[0], self.col[held], self.val[held], begin, self.lengths[start:stop], self.gap)


def entries_of(
    rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None, gap: int, dtype: torch.dtype
) -> Entries:
    """The documents `docs` (int64), in that order, as a view's scales say. Features that it does not know are left out;
    words that it does not know are word 0, and a document of such words alone counts as one without words."""
    if isinstance(rows, TokenRows):
        return _token_entries(rows, docs, col_scale, gap, dtype)
    assert isinstance(rows, SparseRows), "networks read sparse rows or tokens"
    entry, doc = _held(rows.crow, docs)
    col, val = rows.col[entry].long(), rows.val[entry].to(dtype)
    if col_scale is not None:
        val = val * col_scale[col].to(dtype)
    if row_scale is not None:
        val = val * row_scale[docs][doc].to(dtype)
    kept = val != 0
    lengths = torch.bincount(doc[kept], minlength=docs.numel())
    begin = torch.arange(docs.numel() + 1, device=docs.device)
    return Entries(_starts(lengths), col[kept], val[kept], begin, torch.ones_like(docs), 0)


def filled_up(entries: Entries, docs: int) -> Entries:
    """With documents without entries behind the others, so that there are `docs` of them."""
    more = docs - entries.lengths.numel()
    each = entries.gap or 1
    crow = torch.cat([entries.crow, entries.crow[-1:].expand(more * each)])
    begin = torch.cat([entries.begin, entries.begin[-1] + each * torch.arange(1, more + 1, device=crow.device)])
    lengths = torch.cat([entries.lengths, entries.lengths.new_full((more,), 0 if entries.gap else 1)])
    return Entries(crow, entries.col, entries.val, begin, lengths, entries.gap)


def thinned(entries: Entries, factor: Tensor) -> Entries:
    """Entries of sparse rows with their values by `factor`; those that become 0 are left out, and cost nothing."""
    kept = factor != 0
    before = torch.cat([entries.crow.new_zeros(1), kept.cumsum(0)])
    val = (entries.val * factor)[kept]
    return Entries(before[entries.crow], entries.col[kept], val, entries.begin, entries.lengths, entries.gap)


def _token_entries(rows: TokenRows, docs: Tensor, known: Tensor | None, gap: int, dtype: torch.dtype) -> Entries:
    entry, doc = _held(rows.offsets, docs)
    col = rows.ids[entry].long()
    if known is not None:
        col = torch.where(known[col] != 0, col, 0)
    some = torch.zeros_like(docs, dtype=torch.bool).index_fill_(0, doc[col != 0], True)
    col, doc = col[some[doc]], doc[some[doc]]
    lengths = (rows.offsets[docs + 1] - rows.offsets[docs]).masked_fill(~some, 0)
    begin = gap + _starts(lengths + gap)
    place = begin[doc] + torch.arange(doc.numel(), device=docs.device) - (lengths.cumsum(0) - lengths)[doc]
    filled = torch.zeros(int(begin[-1]), dtype=torch.int64, device=docs.device)
    filled[place] = 1
    return Entries(_starts(filled), col, torch.ones(col.numel(), dtype=dtype, device=docs.device), begin, lengths, gap)


def _held(crow: Tensor, docs: Tensor) -> tuple[Tensor, Tensor]:
    """Entries of the documents, one document after the other, and the place of each entry's document in `docs`."""
    lengths = crow[docs + 1] - crow[docs]
    doc = torch.repeat_interleave(lengths)
    return torch.arange(doc.numel(), device=docs.device) + (crow[docs] - lengths.cumsum(0) + lengths)[doc], doc


def _starts(lengths: Tensor) -> Tensor:
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
