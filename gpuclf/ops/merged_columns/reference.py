"""Merged columns in plain torch, on any device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.merged_columns import MergedRows

_Entries = tuple[Tensor, Tensor, Tensor]  # document, column and value of each


def merged_columns(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    used: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    num_features: int,
    dtype: torch.dtype,
    *,
    merge: bool,
) -> MergedRows:
    """See `gpuclf.ops.merged_columns`."""
    doc = torch.repeat_interleave(torch.arange(used.numel(), device=val.device), crow.diff())
    x = val.to(dtype)
    x = x if col_scale is None else x * col_scale.to(dtype)[col.long()]
    x = x if row_scale is None else x * row_scale.to(dtype)[doc]
    there = used[doc] & (x != 0)
    doc, feature, x = doc[there], col[there].long(), x[there]
    counts = torch.bincount(feature, minlength=num_features + 1)
    kept = counts > (1 if merge else 0)
    place = torch.zeros_like(counts)
    share = kept.to(dtype)
    share[0] = 1
    by_frequency = torch.argsort(counts, descending=True, stable=True)
    by_frequency = by_frequency[kept[by_frequency]]
    number = by_frequency.numel()
    place[by_frequency] = torch.arange(1, number + 1, device=val.device)
    alone = ~kept[feature]
    entries = doc, place[feature], x
    if bool(alone.any()):
        single, several = torch.nonzero(alone).flatten(), torch.nonzero(~alone).flatten()
        theirs, value = feature[single], x[single]
        owners, owner = torch.unique_consecutive(doc[single], return_inverse=True)
        length = torch.zeros(owners.numel(), dtype=torch.float64, device=val.device)
        length = length.index_add_(0, owner, value.double().square()).sqrt().to(dtype)
        place[theirs] = number + 1 + owner
        share[theirs] = value / length[owner]
        entries = _with_merged((doc[several], place[feature[several]], x[several]), owners, number + 1, length)
    starts = torch.zeros_like(crow)
    starts[1:] = torch.bincount(entries[0], minlength=used.numel()).cumsum(0)
    return MergedRows(starts, entries[1].to(torch.int32), entries[2], place, share)


def _with_merged(entries: _Entries, owners: Tensor, first: int, length: Tensor) -> _Entries:
    """The entries by document, followed in each of the documents `owners` (rising) by its merged feature: columns
    first, first + 1, …, of value `length`."""
    doc, col, val = entries
    total = doc.numel() + owners.numel()
    last = int(torch.cat([doc[-1:], owners[-1:]]).max())
    ahead = torch.bincount(owners + 1, minlength=last + 1).cumsum(0)  # merged features of earlier documents
    there = torch.arange(doc.numel(), device=doc.device) + ahead[doc]
    own = torch.searchsorted(doc, owners, right=True) + torch.arange(owners.numel(), device=doc.device)
    docs, cols, vals = doc.new_empty(total), col.new_empty(total), val.new_empty(total)
    docs[there], cols[there], vals[there] = doc, col, val
    docs[own], vals[own] = owners, length
    cols[own] = torch.arange(first, first + owners.numel(), device=doc.device)
    return docs, cols, vals
