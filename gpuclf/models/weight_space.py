"""Products of weights and score gradients with the training rows of replicas, each under its view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import SparseRows
from gpuclf.models.replica_rows import Span
from gpuclf.ops.sparse_gradient import Columns, sparse_gradient
from gpuclf.ops.sparse_scores import sparse_scores


@dataclass(frozen=True)
class Part:
    """Neighbouring replicas of one view with their matrix: by row and by column, and its scales or None."""

    replicas: slice
    docs: Tensor
    crow: Tensor
    col: Tensor
    val: Tensor
    columns: Columns
    col_scale: Tensor | None
    row_scale: Tensor | None


def parts_of_rows(rows: SparseRows, columns: Columns, spans: Sequence[Span]) -> list[Part]:
    """The problem's own rows, scaled as each view says."""
    return [Part(s.replicas, s.docs, rows.crow, rows.col, rows.val, columns, s.col_scale, s.row_scale) for s in spans]


@dataclass(frozen=True)
class WeightSpace:
    """Weights (columns, R, K), row 0 the offset's; `offset` false keeps it at 0."""

    parts: Sequence[Part]
    columns: int
    docs: int
    offset: bool

    def zero(self, classes: int, dtype: torch.dtype) -> Tensor:
        shape = (self.columns, self.parts[-1].replicas.stop, classes)
        return torch.zeros(shape, dtype=dtype, device=self.parts[0].val.device)

    def scores(self, weights: Tensor) -> Tensor:
        """X·W (docs, R, K) in the weights' type, 0 for documents that a replica does not train on."""
        _, replicas, classes = weights.shape
        whole = len(self.parts) == 1 and self.parts[0].docs.numel() == self.docs
        out = None if whole else weights.new_zeros((self.docs, replicas, classes))
        for p in self.parts:
            part = weights[:, p.replicas]
            scores = sparse_scores(p.crow, p.col, p.val, p.docs, p.col_scale, p.row_scale, part)
            if out is None:
                return scores.permute(1, 0, 2).contiguous()
            out[p.docs, p.replicas] = scores.permute(1, 0, 2)
        assert out is not None
        return out

    def lift(self, gradient: Tensor) -> Tensor:
        """XᵀG (columns, R, K) of a score gradient (docs, R, K)."""
        out = gradient.new_empty((self.columns, *gradient.shape[1:]))
        for p in self.parts:
            sparse_gradient(p.columns, p.col_scale, p.row_scale, gradient[:, p.replicas], out[:, p.replicas])
        if not self.offset:
            out[0] = 0
        return out

    def lift_squares(self, weights: Tensor) -> Tensor:
        """Σ over n of x² G (columns, R, K), for G (docs, R, K) that are weights of the documents."""
        out = weights.new_empty((self.columns, *weights.shape[1:]))
        for p in self.parts:
            squared = Columns(p.columns.start, p.columns.doc, p.columns.val.square())
            col_scale = None if p.col_scale is None else p.col_scale.square()
            row_scale = None if p.row_scale is None else p.row_scale.square()
            sparse_gradient(squared, col_scale, row_scale, weights[:, p.replicas], out[:, p.replicas])
        return out
