"""The trained linear model of all families: scores are one sparse product."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows, SparseRows
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.sparse_scores import sparse_scores


@dataclass(frozen=True)
class LinearPredictor:
    """s = x·W (Eisenstein 2018, eq. 2.1) of R replicas.

    weights (V+1, R, K) float32, row 0 the offset's. impossible (V+1, R, K) float32 ≥ 0 or None: a document with a
    non-zero feature of positive entry cannot be of that class, which scores -inf. A document that every class excludes
    gets the offset's scores, and is flagged. double: sums run in float64, as sums of log probabilities must.
    """

    weights: Tensor = replica_field(1)
    impossible: Tensor | None = replica_field(1)
    double: bool = False

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32; see gpuclf.models.learner.Predictor."""
        assert isinstance(rows, SparseRows), "a linear model scores sparse rows"
        span = slice(None) if replicas is None else replicas
        weights = self.weights[:, span]
        scores = sparse_scores(rows.crow, rows.col, rows.val, docs, col_scale, row_scale, weights, self.double)
        if self.impossible is None:
            return scores
        excluded = self._excluded(rows, docs, col_scale, self.impossible[:, span])
        scores = scores.masked_fill(excluded, -torch.inf)
        dead = torch.isneginf(scores).all(dim=-1, keepdim=True)
        return torch.where(dead, weights[0, :, None], scores)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: documents that every class excludes."""
        assert isinstance(rows, SparseRows), "a linear model scores sparse rows"
        if self.impossible is None:
            return torch.zeros((self.weights.shape[1], docs.numel()), dtype=torch.bool, device=docs.device)
        excluded = self._excluded(rows, docs, col_scale, self.impossible)
        return (excluded | torch.isneginf(self.weights[0])[:, None]).all(dim=-1)

    def _excluded(self, rows: SparseRows, docs: Tensor, col_scale: Tensor | None, impossible: Tensor) -> Tensor:
        """(R, len(docs), K) bool. Presence counts, not the value: a tiny one excludes as well."""
        present = (rows.val != 0).to(torch.float32)
        kept = None if col_scale is None else (col_scale != 0).to(torch.float32)
        return sparse_scores(rows.crow, rows.col, present, docs, kept, None, impossible) > 0
