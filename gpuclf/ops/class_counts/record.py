"""Class counts as they are kept: only (feature, class) pairs that meet in some document."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class ClassCounts:
    """Counts of F views. Feature v's cells are start[v]:start[v + 1]: one for each class, in rising order, of which a
    labelled document, of whatever view, holds v. Feature 0, the offset, has none: its counts are `documents`.

    documents (F, K) float64: training rows of a class. start (V+2,) int64, label (P,) int64: a cell's class;
    counts (F, P) float64. totals (F, K) float64: sums over the features; vocabulary (F,) int64: features with a count.
    """

    documents: Tensor
    start: Tensor
    label: Tensor
    counts: Tensor
    totals: Tensor
    vocabulary: Tensor

    @property
    def num_features(self) -> int:
        return self.start.numel() - 2

    def feature(self) -> Tensor:
        """(P,) int64: the feature of each cell."""
        return torch.repeat_interleave(
            torch.arange(self.start.numel() - 1, device=self.start.device), self.start.diff()
        )

    def table(self) -> Tensor:
        """The counts with their zeros, (V+1, F, K) float64; row 0 is `documents`."""
        shape = (self.num_features + 1, *self.documents.shape)
        dense = torch.zeros(shape, dtype=torch.float64, device=self.counts.device)
        dense[0] = self.documents
        dense.permute(0, 2, 1)[self.feature(), self.label] = self.counts.t()
        return dense
