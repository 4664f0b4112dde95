"""Chunks where documents are the tokens of sentences and classes are tags such as B-NP, I-NP and O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import ReviewRows, SequenceRows
from gpuclf.metrics.chunks import ChunkTags, chunk_batch_metrics, chunk_counts, chunk_tags
from gpuclf.train.options import ExperimentOptions

METRIC = "chunk_f1"


@dataclass(frozen=True)
class TokenChunks:
    """tags: what the classes mean; starts (sentences + 1,): where each sentence begins among the documents."""

    tags: ChunkTags
    starts: Tensor

    def metrics(self, gold: Tensor, predicted: Tensor, docs: Tensor) -> dict[str, Tensor]:
        """Figures by name, each (R,) float64, of the tokens `docs` (n,), rising: gold (n,), predicted (R, n)."""
        return chunk_batch_metrics(chunk_counts(self.tags, gold, predicted, self.sentences(docs)))

    def sentences(self, docs: Tensor) -> Tensor:
        """The number of the sentence of each token."""
        return torch.searchsorted(self.starts, docs, right=True) - 1


def token_chunks(rows: Any, classes: Sequence[str]) -> TokenChunks | None:
    """The chunks that documents make; None where they are no tokens of sentences, or classes no tags of chunks."""
    if not isinstance(rows, SequenceRows) or isinstance(rows, ReviewRows):
        return None
    tags = chunk_tags(classes)
    return None if tags is None else TokenChunks(tags, rows.starts)


def check_metric(options: ExperimentOptions, chunks: TokenChunks | None) -> None:
    """Refuses to choose or stop by chunks where there are none."""
    stopping = options.train.early_stopping
    for key, metric in (
        ("select.metric", options.select.metric),
        ("train.early_stopping.metric", None if stopping is None else stopping.metric),
    ):
        if metric == METRIC and chunks is None:
            raise UserFault(
                "the classes are no tags of chunks, such as B-NP, I-NP and O, on tokens of sentences",
                key=key,
                remedy="take accuracy or macro_f1",
            )
