"""A grown forest as an immutable predictor: flat trees, votes, and what was seen in training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.forest.coded import coded, layout
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.forest_votes import Forests, forest_votes
from gpuclf.ops.grow_forest import LEAF, PADDING

TIE_MASS = 0.25  # of a vote
_DOCS = 1 << 14  # documents scored at once


@dataclass(frozen=True)
class ForestPredictor:
    """R forests of at most T trees. input, left, first, size, rows (R, T, L), values (R, T, S) int32: see Forests.

    trees (R,) int32: how many there are. tie (R, K) float32 adds up to 1: the classes by the rank of their training
    frequency, 0 for those without a row. mapping (R, values of all inputs) int32: the code that stands for each:
    itself, the one it is merged with, or 0 where training had it not. gain (R, M) float64: what splits on each input
    gained; inputs are those of `layout`. reduced: whether mapping changes codes that training had.
    """

    input: Tensor = replica_field(fill=PADDING)
    left: Tensor = replica_field(fill=0)
    first: Tensor = replica_field(fill=0)
    size: Tensor = replica_field(fill=0)
    rows: Tensor = replica_field(fill=0)
    values: Tensor = replica_field(fill=0)
    trees: Tensor = replica_field()
    tie: Tensor = replica_field()
    mapping: Tensor = replica_field()
    gain: Tensor = replica_field()
    soft: bool = False
    unseen: str = "rest"
    reduced: bool = False

    def votes(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, replicas: slice | None = None) -> Tensor:
        """Votes (R, len(docs), K) float64 of the trees; they add up to the number of trees."""
        inputs, span = layout(rows), slice(None) if replicas is None else replicas
        base = inputs.base.to(self.input.device)
        parts = [part[span] for part in (self.input, self.left, self.first, self.size, self.rows, self.values)]
        mapping, classes = self.mapping[span], self.tie.shape[1]
        known = torch.ones(mapping.shape[1], dtype=torch.bool, device=mapping.device)
        known[base[:-1]] = False
        found = torch.zeros(len(mapping), docs.numel(), classes, dtype=torch.float64, device=self.input.device)
        for place in range(0, docs.numel(), _DOCS):
            portion = docs[place : place + _DOCS]
            codes = coded(rows, inputs, portion, col_scale)
            everyone = torch.arange(portion.numel(), device=codes.device)
            groups = [slice(None)] if not self.reduced and self.unseen == "rest" else None
            for group in groups or [slice(r, r + 1) for r in range(len(mapping))]:
                own = codes if groups else mapping[group][0][base[:-1] + codes]
                input, left, first, size, held, values = (part[group] for part in parts)
                forests = Forests(input, left, first, size, held, values, base)
                seen = None if groups else known[None]
                found[group, place : place + _DOCS] = forest_votes(
                    forests, own, everyone, classes, self.soft, self.unseen, seen
                )
        return found

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """log P(class | document) (R, len(docs), K) float32: shares of the votes, TIE_MASS of one spread by `tie`."""
        span = slice(None) if replicas is None else replicas
        votes = self.votes(rows, docs, col_scale, replicas)
        mass = TIE_MASS * self.tie[span].to(torch.float64)[:, None]
        total = self.trees[span].to(torch.float64)[:, None, None] + TIE_MASS
        return torch.log((votes + mass) / total).to(torch.float32)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: none; every tree votes for every document."""
        return torch.zeros(len(self.trees), docs.numel(), dtype=torch.bool, device=docs.device)

    def settled(self) -> ForestPredictor:
        """The same forests without padding that no tree of theirs needs."""
        trees = int(self.trees.max()) if self.trees.numel() else 0
        nodes = _longest(self.input[:, :trees] != PADDING)
        listed = torch.where(self.input == LEAF, 2 * self.size, self.size.clamp(min=0))
        ends = torch.where(self.size > 0, self.first + listed, 0)[:, :trees, :nodes]
        values = max(1, int(ends.max())) if ends.numel() else 1
        cut = {name: getattr(self, name)[:, :trees, :nodes].contiguous() for name in _NODE_FIELDS}
        return replace(self, **cut, values=self.values[:, :trees, :values].contiguous())


_NODE_FIELDS = ("input", "left", "first", "size", "rows")


def _longest(filled: Tensor) -> int:
    """The most entries of the last axis that are in use, 1 at least; they stand in front."""
    return max(1, int(filled.sum(-1).max())) if filled.numel() else 1
