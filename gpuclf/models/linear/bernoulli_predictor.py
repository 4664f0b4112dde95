"""Scores of Bernoulli naive Bayes: linear in which features are present, whatever their values."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows, SparseRows
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.sparse_scores import sparse_scores


@dataclass(frozen=True)
class BernoulliPredictor:
    """log P(class) + Σ over present features of log p + Σ over absent ones of log (1 - p).

    weights (V+1, R, K) float32: row 0 is the score of a document without any feature, row v what v's presence adds.
    impossible (V+1, R, K) float32 or None, with smoothing 0 only: its sum over row 0 and the present features counts
    what excludes the class: present features of probability 0 and absent ones of probability 1.
    prior (R, K) float32: log P(class), the scores of a document that all classes exclude.
    """

    weights: Tensor = replica_field(1)
    impossible: Tensor | None = replica_field(1)
    prior: Tensor = replica_field()

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32 under one view; a feature is present where its scaled value is not 0."""
        span = slice(None) if replicas is None else replicas
        scores = _presence_sums(rows, docs, col_scale, self.weights[:, span])
        if self.impossible is None:
            return scores
        excluded = _presence_sums(rows, docs, col_scale, self.impossible[:, span]) > 0
        scores = scores.masked_fill(excluded, -torch.inf)
        dead = torch.isneginf(scores).all(dim=-1, keepdim=True)
        return torch.where(dead, self.prior[span, None], scores)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: documents that every class excludes."""
        if self.impossible is None:
            return torch.zeros((self.prior.shape[0], docs.numel()), dtype=torch.bool, device=docs.device)
        excluded = _presence_sums(rows, docs, col_scale, self.impossible) > 0
        return (excluded | torch.isneginf(self.prior)[:, None]).all(dim=-1)


def _presence_sums(rows: Rows, docs: Tensor, col_scale: Tensor | None, table: Tensor) -> Tensor:
    """Sums (R, len(docs), K), in float64, of a table's row 0 and of its rows of the present features."""
    assert isinstance(rows, SparseRows), "a linear model scores sparse rows"
    kept = None if col_scale is None else (col_scale != 0).to(torch.float32)
    return sparse_scores(rows.crow, rows.col, (rows.val != 0).to(torch.float32), docs, kept, None, table, double=True)
