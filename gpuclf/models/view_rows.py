"""The training rows of each view as a matrix of its own, with as few features as tell the same.

Optimisers go over the weights many times, and most features of a text collection occur in a single document. The
penalty ½‖W‖² and the scores do not change when coordinates are rotated. So all features that occur in one training
document alone become one, whose value is the length of theirs (the other directions of their space have no score and
stay at 0); the rest is numbered by falling frequency, so that what is asked for often lies together; features that no
training document has are left out. Views are kept apart: a fold's matrix is that of a run on its rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.replica_rows import Span, spans_of, sparse
from gpuclf.models.weight_space import Part
from gpuclf.ops.sparse_gradient import Columns


@dataclass(frozen=True)
class ViewRows:
    """One matrix a view, all docs as its rows, those that it does not train on empty; columns 1 … width, 0 the offset.

    crow (views, docs+1) int64, start (views, width+2) int64: where a row, a column begins in col, val (its entries by
    row) and in doc, across (by column; empty where nobody asked for columns). place, share (views, V+1): feature v has
    weight share · that of column place.
    """

    crow: Tensor
    col: Tensor
    val: Tensor
    start: Tensor
    doc: Tensor
    across: Tensor
    place: Tensor
    share: Tensor

    @property
    def width(self) -> int:
        return self.start.shape[1] - 2

    def columns(self, view: int) -> Columns:
        return Columns(self.start[view], self.doc, self.across)

    def expanded(self, weights: Tensor, views: Tensor) -> Tensor:
        """Weights of the columns (width+1, R, K) as those of the features (V+1, R, K) float32; views (R,)."""
        features, replicas, classes = self.place.shape[1], weights.shape[1], weights.shape[2]
        out = torch.empty((features, replicas, classes), dtype=torch.float32, device=weights.device)
        for r, view in enumerate(views.tolist()):
            own = weights[:, r].index_select(0, self.place[view])
            out[:, r] = own * self.share[view, :, None].to(own.dtype)
        return out


def view_rows(problem: Problem, dtype: torch.dtype, *, merge: bool, by_column: bool = True) -> ViewRows:
    """The matrices of the views that a problem's replicas train on; `merge` false keeps every feature that occurs."""
    rows, spans = sparse(problem), {span.view: span for span in spans_of(problem)}
    number, features = problem.views.num_views, rows.num_features + 1
    device = rows.val.device
    crow = torch.zeros((number, rows.num_docs + 1), dtype=torch.int64, device=device)
    place = torch.zeros((number, features), dtype=torch.int64, device=device)
    share = torch.zeros((number, features), dtype=dtype, device=device)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for view, span in sorted(spans.items()):
        doc, col, val = _entries(problem, span, dtype)
        place[view], share[view], part = _compact(doc, col, val, features, merge)
        crow[view, 1:] = torch.bincount(part[0], minlength=rows.num_docs).cumsum(0)
        crow[view] += sum(len(before[0]) for before in parts)
        parts.append(part)
    width = int(place.max()) if place.numel() else 0
    start = torch.zeros((number, width + 2), dtype=torch.int64, device=device)
    sorted_parts: list[tuple[Tensor, Tensor]] = []
    for view, (doc, col, val) in zip(sorted(spans), parts if by_column else [], strict=by_column):
        order = torch.argsort(col.to(torch.int32), stable=True)
        start[view, 1:] = torch.bincount(col, minlength=width + 1).cumsum(0)
        start[view] += sum(len(before[0]) for before in sorted_parts)
        sorted_parts.append((doc[order].to(torch.int32), val[order]))
    empty = (torch.zeros(0, dtype=torch.int32, device=device), torch.zeros(0, dtype=dtype, device=device))
    sorted_parts = sorted_parts or [empty]
    return ViewRows(
        crow=crow,
        col=torch.cat([part[1] for part in parts]).to(torch.int32),
        val=torch.cat([part[2] for part in parts]),
        start=start,
        doc=torch.cat([part[0] for part in sorted_parts]),
        across=torch.cat([part[1] for part in sorted_parts]),
        place=place,
        share=share,
    )


def _entries(problem: Problem, span: Span, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Document, feature and value of the non-zeros of a view's training rows, in their order."""
    rows = sparse(problem)
    trained = torch.zeros(rows.num_docs, dtype=torch.bool, device=rows.val.device)
    trained[span.docs] = True
    doc = torch.repeat_interleave(torch.arange(rows.num_docs, device=rows.val.device), rows.crow.diff())
    val = rows.val.to(dtype)
    if span.col_scale is not None:
        val = val * span.col_scale.to(dtype)[rows.col.long()]
    if span.row_scale is not None:
        val = val * span.row_scale.to(dtype)[doc]
    used = trained[doc] & (val != 0)
    return doc[used], rows.col[used].long(), val[used]


def _compact(
    doc: Tensor, col: Tensor, val: Tensor, features: int, merge: bool
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
    """place and share (V+1,) of the features, and the entries (document, column, value) by document."""
    counts = torch.bincount(col, minlength=features)
    kept = counts > (1 if merge else 0)
    place = torch.zeros(features, dtype=torch.int64, device=col.device)
    share = kept.to(val.dtype)
    share[0] = 1
    by_frequency = torch.argsort(counts, descending=True, stable=True)
    by_frequency = by_frequency[kept[by_frequency]]
    number = by_frequency.numel()
    place[by_frequency] = torch.arange(1, number + 1, device=col.device)
    alone = ~kept[col]
    if not bool(alone.any()):
        return place, share, (doc, place[col], val)
    single, several = torch.nonzero(alone).flatten(), torch.nonzero(~alone).flatten()
    theirs, value = col[single], val[single]
    owners, owner = torch.unique_consecutive(doc[single], return_inverse=True)
    length = torch.zeros(owners.numel(), dtype=torch.float64, device=col.device)
    length = length.index_add_(0, owner, value.double().square()).sqrt().to(val.dtype)
    place[theirs] = number + 1 + owner
    share[theirs] = value / length[owner]
    return place, share, _with_merged(doc[several], place[col[several]], val[several], owners, number + 1, length)


def _with_merged(
    doc: Tensor, col: Tensor, val: Tensor, owners: Tensor, first: int, length: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The entries by document, followed in each of the documents `owners` (rising) by its merged feature: columns
    first, first + 1, …, of value `length`."""
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


def parts_of_views(made: ViewRows, spans: Sequence[Span]) -> list[Part]:
    """The matrices of the views."""
    return [
        Part(s.replicas, s.docs, made.crow[s.view], made.col, made.val, made.columns(s.view), None, None) for s in spans
    ]
