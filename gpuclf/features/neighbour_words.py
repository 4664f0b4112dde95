"""Content words of the sentences around a token's own, as further columns of its row: context without a model of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from gpuclf.features.rows import ReviewRows


def places(reach: int) -> list[int]:
    """Where the sentences stand from the token's own."""
    return [place for place in range(-reach, reach + 1) if place]


def neighbour_names(words: Sequence[str], reach: int) -> list[str]:
    """The columns by name: sentence[-1]=waiter."""
    return [f"sentence[{place:+d}]={word}" for place in places(reach) for word in words]


def with_neighbours(rows: ReviewRows, reach: int) -> ReviewRows:
    """The rows with a block of columns for each place, a column a content word, of value 1 where that sentence of the
    same review holds it."""
    words = rows.reviews
    sentence = torch.repeat_interleave(rows.starts.diff())
    review = torch.repeat_interleave(words.starts.diff())
    cols, owners = [rows.col.long()], [torch.repeat_interleave(rows.crow.diff())]
    for block, place in enumerate(places(reach)):
        other = sentence + place
        inside = (other >= 0) & (other < words.num_sentences)
        other = other.clamp(0, max(words.num_sentences - 1, 0))
        inside &= review[other] == review[sentence]
        token = torch.nonzero(inside).flatten()
        entries, sizes = _of_groups(words.crow, other[token])
        owners.append(torch.repeat_interleave(token, sizes))
        cols.append(rows.num_features + 1 + block * words.num_words + words.word[entries].long())
    owner, col = torch.cat(owners), torch.cat(cols)
    val = torch.cat([rows.val, rows.val.new_ones(col.numel() - rows.val.numel())])
    order = torch.argsort(owner, stable=True)  # blocks come in rising order, and so do columns within a row
    counts = torch.bincount(owner, minlength=rows.num_docs)
    return replace(
        rows,
        crow=torch.cat([counts.new_zeros(1), counts.cumsum(0)]),
        col=col[order].to(rows.col.dtype),
        val=val[order],
        num_features=rows.num_features + len(places(reach)) * words.num_words,
    )


def _of_groups(starts: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
    """The entries of the groups, one group after the other, and how many each has."""
    sizes = starts.diff()[groups]
    shift = starts[groups] - (sizes.cumsum(0) - sizes)
    return torch.arange(int(sizes.sum())) + torch.repeat_interleave(shift, sizes), sizes
