"""A trained network of R replicas.

Documents are scored in blocks of one size, the last one filled up with empty documents: a library's order of summation
in a product hangs on its shape, and so an answer would depend, in its last bits, on how many documents are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.neural.network import Network, shape_of
from gpuclf.models.neural.portions import Entries, entries_of, filled_up
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.full_precision import full_precision
from gpuclf.ops.table_epoch import bag_sums

_DOCS = {"cpu": 64}  # documents scored at once; with a multiple of 64 torch's vectors hold all numbers of a layer
_DOCS_ELSEWHERE = 512


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
        weights = [self.parameters[r].clone() for r in chosen]  # of a file they may lie anywhere; a copy lies aligned
        block = _DOCS.get(docs.device.type, _DOCS_ELSEWHERE)
        for start in range(0, docs.numel(), block):
            part = docs[start : start + block]
            entries = entries_of(rows, part, col_scale, row_scale, network.shape.gap, self.table.dtype)
            entries = filled_up(entries, block)
            for place, r in enumerate(chosen):
                sums = self.sums(r, entries)
                with full_precision():
                    scores = network.scores(weights[place], self.buffers[r], sums, entries)
                out[place, start : start + part.numel()] = scores[: part.numel()]
        return out

    def sums(self, replica: int, entries: Entries) -> Tensor:
        """(rows, H): what the first layer makes of the entries."""
        return bag_sums(self.table[replica : replica + 1], entries.crow, entries.col, entries.val)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: none; no class is ever excluded."""
        del rows, col_scale, row_scale
        return torch.zeros((self.table.shape[0], docs.numel()), dtype=torch.bool, device=docs.device)
