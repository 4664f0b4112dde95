"""A trained network of R replicas."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.neural.network import Network, shape_of
from gpuclf.models.neural.portions import Entries, entries_of
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.table_epoch import bag_sums

_DOCS = 512  # documents scored at once


@dataclass(frozen=True)
class NeuralPredictor:
    """table (R, V, H): the first layer's weights by feature, or word vectors; parameters (R, P) of all layers behind
    it, buffers (R, Q): running means of norms, as gpuclf.models.neural.network lays them out. network: its shape as
    text; classes: how many."""

    table: Tensor = replica_field()
    parameters: Tensor = replica_field()
    buffers: Tensor = replica_field()
    network: str = ""
    classes: int = 0

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32; see gpuclf.models.learner.Predictor."""
        chosen = range(self.table.shape[0])[slice(None) if replicas is None else replicas]
        network = Network(shape_of(self.network), self.classes)
        out = torch.empty(len(chosen), docs.numel(), self.classes, device=docs.device)
        for start in range(0, docs.numel(), _DOCS):
            part = docs[start : start + _DOCS]
            entries = entries_of(rows, part, col_scale, row_scale, network.shape.gap, self.table.dtype)
            for place, r in enumerate(chosen):
                sums = self.sums(r, entries)
                out[place, start : start + part.numel()] = network.scores(
                    self.parameters[r], self.buffers[r], sums, entries
                )
        return out

    def sums(self, replica: int, entries: Entries) -> Tensor:
        """(rows, H): what the first layer makes of the entries."""
        return bag_sums(self.table[replica : replica + 1], entries.crow, entries.col, entries.val)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: none; no class is ever excluded."""
        del rows, col_scale, row_scale
        return torch.zeros((self.table.shape[0], docs.numel()), dtype=torch.bool, device=docs.device)
