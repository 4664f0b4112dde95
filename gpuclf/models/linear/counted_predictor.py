"""Multinomial naive Bayes before its tables: counts that all smoothings share, from which weights are made on demand.

A model that is only ever asked for its fold's held-out documents needs the weights of their features and no others.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows, SparseRows
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.class_counts import ClassCounts
from gpuclf.ops.compact_rows import compact_rows
from gpuclf.ops.log_tables import smoothed_logs


@dataclass(frozen=True)
class CountedPredictor:
    """log φ = log (α + count) - log (Vα + Σ count) (Eisenstein 2018, eq. 2.22) of R replicas.

    counts of F views, without a replica axis and shared by all copies; view (R,) int64: each replica's view among them.
    alpha (R,), log_norm (R, K), prior (R, K) float64. Scores have the bits of `settled()`'s scores: both are sums over
    the same float32 weights in the same order.
    """

    counts: ClassCounts
    view: Tensor = replica_field()
    alpha: Tensor = replica_field()
    log_norm: Tensor = replica_field()
    prior: Tensor = replica_field()

    def settled(self) -> LinearPredictor:
        """The model with the weights of all features."""
        everything = torch.arange(self.counts.num_features + 1, device=self.view.device)
        return self._weights_of(everything, slice(None))

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32; see gpuclf.models.learner.Predictor."""
        part, features, scale = _compacted(rows, docs, col_scale)
        model = self._weights_of(features, slice(None) if replicas is None else replicas)
        norm = None if row_scale is None else row_scale[docs]
        return model.scores(part, torch.arange(docs.numel(), device=docs.device), scale, norm)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: documents that every class excludes."""
        part, features, scale = _compacted(rows, docs, col_scale)
        everyone = torch.arange(docs.numel(), device=docs.device)
        return self._weights_of(features, slice(None)).flagged(part, everyone, scale, None)

    def _weights_of(self, features: Tensor, span: slice) -> LinearPredictor:
        """The model over some features (U+1,), of which the first is the offset, for a run of replicas."""
        counts, alpha = self.counts, self.alpha[span]
        shift = alpha[:, None].expand_as(self.log_norm[span])
        cells = (counts.start, counts.label, counts.counts)
        weights = smoothed_logs(*cells, features, self.view[span], shift, self.log_norm[span])
        impossible = excluded(weights, alpha)
        weights[0] = self.prior[span]
        return LinearPredictor(weights, None if impossible is None else impossible.to(torch.float32), double=True)


def excluded(table: Tensor, alpha: Tensor) -> Tensor | None:
    """Where a table of logs is log 0, which is set to 0 in place; None if no replica has smoothing 0."""
    if not bool((alpha == 0).any()):
        return None
    never = torch.isneginf(table)
    table.masked_fill_(never, 0.0)
    return never


def _compacted(rows: Rows, docs: Tensor, col_scale: Tensor | None) -> tuple[SparseRows, Tensor, Tensor | None]:
    """The documents alone with the features that they use, which features these are, and their scales."""
    assert isinstance(rows, SparseRows), "naive Bayes scores sparse rows"
    crow, col, val, features = compact_rows(rows.crow, rows.col, rows.val, docs, col_scale, rows.num_features)
    scale = None if col_scale is None else col_scale[features]
    return SparseRows(crow, col, val, features.numel() - 1), features, scale
