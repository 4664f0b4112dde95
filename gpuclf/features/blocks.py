"""Blocks: sparse rows of some documents whose columns are still numbered by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.names import Names

Keys = Names | Tensor


@dataclass(frozen=True)
class Block:
    """Rows of consecutive documents, independent of every other block.

    crow (docs+1,) int64, col (nnz,) int64, val (nnz,) of any number type; column i means the feature keys[i]: a name,
    or an int64 index. The same column may stand in a row twice, and the same key at two columns: they are summed when
    the block gets its final columns. `counts` says that values are numbers of occurrences.
    """

    crow: Tensor
    col: Tensor
    val: Tensor
    keys: Keys
    counts: bool = True

    @property
    def num_docs(self) -> int:
        return self.crow.numel() - 1

    def packed(self) -> Block:
        """The same block in half the memory, for waiting."""
        val = self.val.to(torch.int32) if self.counts and self.val.numel() else self.val
        return Block(self.crow, self.col.to(torch.int32), val, self.keys, self.counts)

    def lost_occurrences(self, mapping: Tensor, dropped: Tensor) -> Tensor:
        """(docs,) int64: occurrences whose column maps to -1; dropped (docs,) float64 is the sum of their values."""
        if self.counts:
            return dropped.to(torch.int64)
        lost = torch.cat([self.crow.new_zeros(1), (mapping[self.col.to(torch.int64)] < 0).to(torch.int64).cumsum(0)])
        return lost[self.crow].diff()
