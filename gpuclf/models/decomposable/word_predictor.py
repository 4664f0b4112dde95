"""A decomposable model for each of several ambiguous words, as one predictor: a context is judged by its word's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.replica_axis import merged_parts, part_of, parted, replica_field


@dataclass(frozen=True)
class WordPredictor:
    """models: of R replicas a model for each word, whose tensors have an axis of words behind that of replicas.
    classes: of each word, its classes as numbers among all K. prior (R, K) float64: log shares of these in training,
    which speak for words that training did not have."""

    models: DecomposablePredictor
    prior: Tensor = replica_field()
    classes: Sequence[Sequence[int]] = ()

    @classmethod
    def of(
        cls, made: Sequence[DecomposablePredictor], classes: Sequence[Sequence[int]], prior: Tensor
    ) -> WordPredictor:
        """From one predictor for each word of each replica, replica by replica."""
        models = parted(DecomposablePredictor.joined(made), len(classes))
        return cls(models, prior, [list(own) for own in classes])

    def of_word(self, word: int) -> DecomposablePredictor:
        """The models of one word, whose classes are numbered by their places among the word's."""
        models = part_of(self.models, word)
        return replace(models, prior=models.prior[:, : len(self.classes[word])])

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """log P(class | document) (R, len(docs), K) float32; −∞ for classes that only other words have."""
        assert isinstance(rows, WordRows), "contexts of several words"
        assert col_scale is not None, "contexts have word sets"
        prior = self.prior[replicas or slice(None)].to(torch.float32)
        scores = prior[:, None].repeat(1, docs.numel(), 1)
        for word, places in _by_word(rows, docs):
            scale, own = rows.scale(word, col_scale), rows.place[docs[places]]
            found = self.of_word(word).scores(rows.parts[word], own, scale, row_scale, replicas)
            whole = torch.full_like(scores[:, : len(places)], -torch.inf)
            whole[..., list(self.classes[word])] = found
            scores[:, places] = whole
        return scores

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: documents that their word's model does not cover."""
        assert isinstance(rows, WordRows), "contexts of several words"
        assert col_scale is not None, "contexts have word sets"
        found = torch.zeros(len(self.prior), docs.numel(), dtype=torch.bool, device=docs.device)
        for word, places in _by_word(rows, docs):
            scale, own = rows.scale(word, col_scale), rows.place[docs[places]]
            found[:, places] = self.of_word(word).flagged(rows.parts[word], own, scale, row_scale)
        return found

    def settled(self) -> WordPredictor:
        """The same models without padding that none of them needs."""
        return replace(self, models=parted(merged_parts(self.models).settled(), len(self.classes)))

    def refitted(self, rows: Rows, labels: Tensor, col_scale: Tensor | None) -> WordPredictor:
        """The first replica's tables counted on other documents (see gpuclf.models.refit)."""
        assert isinstance(rows, WordRows), "contexts of several words"
        assert col_scale is not None, "contexts have word sets"
        made = [
            self.of_word(word).refitted(part, rows.local_labels(word, labels), rows.scale(word, col_scale))
            for word, part in enumerate(rows.parts)
        ]
        counts = torch.bincount(labels[labels >= 0], minlength=self.prior.shape[1]).double()
        return self.of(made, self.classes, torch.log(counts / counts.sum().clamp(min=1))[None])


def _by_word(rows: WordRows, docs: Tensor) -> list[tuple[int, Tensor]]:
    """The words that documents (n,) are of, each with the places (m,) among them."""
    word = rows.word[docs]
    return [(number, torch.nonzero(word == number).flatten()) for number in word[word >= 0].unique().tolist()]
