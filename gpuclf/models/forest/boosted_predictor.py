"""Boosted trees as an immutable predictor: a tree a class and round, whose leaf values add up to scores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.forest.coded import coded, layout
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.forest_votes import Forests
from gpuclf.ops.grow_forest import PADDING
from gpuclf.ops.leaf_sums import leaf_sums

_DOCS = 1 << 14  # documents scored at once


@dataclass(frozen=True)
class BoostedPredictor:
    """R models of at most T trees, tree t for class t % K; input, left, first, size (R, T, L), values (R, T, S) int32.

    leaf (R, T, L) float32: shrunk values of leaves. trees (R,) int32; start (R, K) float32: scores without trees, -inf
    for classes that training had not. gain (R, M) float64: what splits on each input gained.
    """

    input: Tensor = replica_field(fill=PADDING)
    left: Tensor = replica_field(fill=0)
    first: Tensor = replica_field(fill=0)
    size: Tensor = replica_field(fill=0)
    values: Tensor = replica_field(fill=0)
    leaf: Tensor = replica_field(fill=0)
    trees: Tensor = replica_field()
    start: Tensor = replica_field()
    gain: Tensor = replica_field()

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32, whose softmax is P(class | document)."""
        span = slice(None) if replicas is None else replicas
        inputs = layout(rows)
        input, left, first, size = (t[span] for t in (self.input, self.left, self.first, self.size))
        forests = Forests(input, left, first, size, size, self.values[span], inputs.base.to(input.device))
        start, leaf = self.start[span], self.leaf[span]
        parts = [torch.zeros(len(start), 0, start.shape[1], dtype=torch.float64, device=start.device)]
        for portion in docs.split(_DOCS):
            codes = coded(rows, inputs, portion, col_scale)
            everyone = torch.arange(portion.numel(), device=codes.device)
            parts.append(leaf_sums(forests, leaf, codes, everyone, start.shape[1]))
        return (torch.cat(parts, 1) + start[:, None]).to(torch.float32)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: none."""
        return torch.zeros(len(self.trees), docs.numel(), dtype=torch.bool, device=docs.device)

    def settled(self) -> BoostedPredictor:
        """The same models without padding that no tree of theirs needs."""
        trees = int(self.trees.max()) if self.trees.numel() else 0
        filled = self.input[:, :trees] != PADDING
        nodes = max(1, int(filled.sum(-1).max())) if filled.numel() else 1
        ends = torch.where(self.size > 0, self.first + self.size, 0)[:, :trees, :nodes]
        values = max(1, int(ends.max())) if ends.numel() else 1
        names = ("input", "left", "first", "size", "leaf")
        cut = {name: getattr(self, name)[:, :trees, :nodes].contiguous() for name in names}
        return replace(self, **cut, values=self.values[:, :trees, :values].contiguous())
