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
from gpuclf.ops.merged_columns import MergedRows, merged_columns
from gpuclf.ops.sparse_gradient import Columns, columns_of


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
    parts: dict[int, MergedRows] = {}
    for view, span in sorted(spans.items()):
        parts[view] = part = _merged(problem, span, dtype, merge)
        place[view], share[view] = part.place, part.share
        crow[view] = part.crow + sum(before.col.numel() for v, before in parts.items() if v != view)
    width = int(place.max()) if place.numel() else 0
    start = torch.zeros((number, width + 2), dtype=torch.int64, device=device)
    turned: dict[int, Columns] = {}
    for view, part in parts.items() if by_column else ():
        turned[view] = columns_of(part.crow, part.col, part.val, width)
        start[view] = turned[view].start + sum(before.doc.numel() for v, before in turned.items() if v != view)
    return ViewRows(
        crow=crow,
        col=torch.cat([part.col for part in parts.values()]),
        val=torch.cat([part.val for part in parts.values()]),
        start=start,
        doc=torch.cat([columns.doc for columns in turned.values()] or [place.new_zeros(0, dtype=torch.int32)]),
        across=torch.cat([columns.val for columns in turned.values()] or [share.new_zeros(0)]),
        place=place,
        share=share,
    )


def _merged(problem: Problem, span: Span, dtype: torch.dtype, merge: bool) -> MergedRows:
    """The matrix of a view's training rows."""
    rows = sparse(problem)
    trained = torch.zeros(rows.num_docs, dtype=torch.bool, device=rows.val.device)
    trained[span.docs] = True
    return merged_columns(
        rows.crow, rows.col, rows.val, trained, span.col_scale, span.row_scale, rows.num_features, dtype, merge=merge
    )


def parts_of_views(made: ViewRows, spans: Sequence[Span]) -> list[Part]:
    """The matrices of the views."""
    return [
        Part(s.replicas, s.docs, made.crow[s.view], made.col, made.val, made.columns(s.view), None, None) for s in spans
    ]
