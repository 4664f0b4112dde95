"""Two ways to write the weights of a linear model as a vector that optimisers combine and multiply.

Vectors are tensors (M, R, K) whose row 0 is the offset; what the other rows are is the space's affair. Both spaces are
linear: combinations of vectors are the combinations of their rows.

WeightSpace: rows 1 … V are the weights themselves.
DocumentSpace: with an L2 penalty, all that a gradient method started from 0 ever reaches is W = XᵀA (the representer
theorem), one coefficient a document and class. Rows 1 … N are A, rows N+1 … 2N the scores X·W without the offset. Inner
products are ⟨XᵀA, XᵀB⟩ = ⟨A, X·XᵀB⟩; scores need no product at all; and where documents are fewer than features by a
factor of some ten, as in text, a vector is as much smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import SparseRows
from gpuclf.models.linear.training_rows import Span
from gpuclf.ops.replica_vectors import replica_dots
from gpuclf.ops.sparse_gradient import Columns, sparse_gradient
from gpuclf.ops.sparse_scores import sparse_scores

Pairs = Sequence[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class WeightSpace:
    """Vectors are weights (V+1, R, K). `offset` false keeps row 0 at 0."""

    rows: SparseRows
    columns: Columns
    spans: Sequence[Span]
    offset: bool

    def zero(self, classes: int, dtype: torch.dtype) -> Tensor:
        shape = (self.rows.num_features + 1, self.spans[-1].replicas.stop, classes)
        return torch.zeros(shape, dtype=dtype, device=self.rows.val.device)

    def scores(self, vector: Tensor) -> Tensor:
        """X·W (docs, R, K), 0 for documents that a replica does not train on."""
        return _scores(self.rows, self.spans, vector)

    def lift(self, gradient: Tensor) -> Tensor:
        """The vector XᵀG of a score gradient (docs, R, K)."""
        result = _transposed(self.rows, self.columns, self.spans, gradient)
        if not self.offset:
            result[0] = 0
        return result

    def dots(self, pairs: Pairs) -> Tensor:
        """Inner products (pairs, R) float64."""
        return replica_dots(pairs)

    def penalised_dots(self, pairs: Pairs) -> Tensor:
        """Inner products without the offset."""
        return replica_dots([(u[1:], v[1:]) for u, v in pairs])

    def weights(self, vector: Tensor) -> Tensor:
        """The weights (V+1, R, K) float32; shares no memory with the vector."""
        return vector.to(torch.float32, copy=True)

    def from_duals(self, weights: Tensor, duals: Tensor) -> Tensor:
        """The vector of weights whose rows 1 … V are XᵀA, A = duals (docs, R, K)."""
        return weights


@dataclass(frozen=True)
class DocumentSpace:
    """Vectors are offset, coefficients and scores of the documents: (1 + 2N, R, K)."""

    rows: SparseRows
    columns: Columns
    spans: Sequence[Span]
    offset: bool

    def zero(self, classes: int, dtype: torch.dtype) -> Tensor:
        shape = (1 + 2 * self.rows.num_docs, self.spans[-1].replicas.stop, classes)
        return torch.zeros(shape, dtype=dtype, device=self.rows.val.device)

    def scores(self, vector: Tensor) -> Tensor:
        """X·W (docs, R, K); of documents that a replica does not train on, the offset alone."""
        return vector[1 + self.rows.num_docs :] + vector[0]

    def lift(self, gradient: Tensor) -> Tensor:
        """The vector XᵀG of a score gradient (docs, R, K)."""
        docs = self.rows.num_docs
        result = gradient.new_zeros((1 + 2 * docs, *gradient.shape[1:]))
        result[1 : 1 + docs] = gradient
        for span in self.spans:
            alone = _alone(span)
            weights = _transposed(self.rows, self.columns, [alone], gradient[:, span.replicas])
            if self.offset:
                result[0, span.replicas] = weights[0]
            weights[0] = 0
            result[1 + docs :, span.replicas] = _scores(self.rows, [alone], weights)
        return result

    def dots(self, pairs: Pairs) -> Tensor:
        return self.penalised_dots(pairs) + replica_dots([(u[:1], v[:1]) for u, v in pairs])

    def penalised_dots(self, pairs: Pairs) -> Tensor:
        docs = self.rows.num_docs
        return replica_dots([(u[1 : 1 + docs], v[1 + docs :]) for u, v in pairs])

    def weights(self, vector: Tensor) -> Tensor:
        result = _transposed(self.rows, self.columns, self.spans, vector[1 : 1 + self.rows.num_docs])
        result[0] = vector[0]
        return result.to(torch.float32)

    def from_duals(self, weights: Tensor, duals: Tensor) -> Tensor:
        without = torch.cat([torch.zeros_like(weights[:1]), weights[1:]])
        return torch.cat([weights[:1], duals, _scores(self.rows, self.spans, without)])


Space = WeightSpace | DocumentSpace


def _alone(span: Span) -> Span:
    """The span as the only one, its replicas first."""
    return Span(slice(0, span.size), span.view, span.docs, span.col_scale, span.row_scale)


def _scores(rows: SparseRows, spans: Sequence[Span], weights: Tensor) -> Tensor:
    """X·W (docs, R, K) in the weights' type, each replica under its view, 0 outside its training rows."""
    _, replicas, classes = weights.shape
    whole = len(spans) == 1 and spans[0].docs.numel() == rows.num_docs
    out = None if whole else weights.new_zeros((rows.num_docs, replicas, classes))
    for span in spans:
        part = weights[:, span.replicas]
        scores = sparse_scores(rows.crow, rows.col, rows.val, span.docs, span.col_scale, span.row_scale, part)
        if out is None:
            return scores.permute(1, 0, 2).contiguous()
        out[span.docs, span.replicas] = scores.permute(1, 0, 2)
    assert out is not None
    return out


def _transposed(rows: SparseRows, columns: Columns, spans: Sequence[Span], gradient: Tensor) -> Tensor:
    """XᵀG (V+1, R, K) in the gradient's type, each replica under its view."""
    out = gradient.new_empty((rows.num_features + 1, *gradient.shape[1:]))
    for span in spans:
        part = slice(span.replicas.start, span.replicas.stop)
        sparse_gradient(columns, span.col_scale, span.row_scale, gradient[:, part], out[:, part])
    return out
