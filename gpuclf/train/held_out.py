"""Figures on held-out rows: each replica is scored on the rows that its view does not train on. Streams over rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from gpuclf.features.word_rows import WordRows
from gpuclf.metrics.aspects import any_aspect_f1, aspect_f1
from gpuclf.metrics.classification import batch_metrics, per_class
from gpuclf.metrics.confusion import confusion
from gpuclf.models.learner import Predictor, Problem, Replicas
from gpuclf.train.token_chunks import TokenChunks

ASPECTS_SHOWN = 20  # of more, no figure has the F1 of each
SCORES_AT_ONCE = 1 << 24  # floats; a chunk of rows is sized so that its scores stay below


class HeldOutRows:
    """The held-out documents of every view of a problem: `docs`, by default all that it does not train on.

    gold (docs,) int64 are the labels of all rows of the problem: below num_gold_classes, which counts the classes of
    the model, then those it cannot know (in the problem's own labels these are -1). outside: the class of tokens of no
    aspect, where the documents are tokens of reviews (see gpuclf.metrics.aspects); chunks: what classes mean as tags;
    classes: their names, for the figures of each aspect.
    """

    def __init__(
        self,
        problem: Problem,
        gold: Tensor,
        num_gold_classes: int,
        docs: list[Tensor] | None = None,
        outside: int | None = None,
        chunks: TokenChunks | None = None,
        classes: Sequence[str] = (),
    ):
        self._outside, self._chunks, self._classes = outside, chunks, classes
        self._problem = problem
        self._gold = gold
        self._num_gold = num_gold_classes
        self.docs = [torch.nonzero(~mask).flatten() for mask in problem.views.train] if docs is None else docs

    def metrics(self, predictor: Predictor, replicas: Replicas) -> dict[str, Tensor]:
        """Accuracy and F1 figures by name, each (R,) float64, of the predictor of these replicas."""
        counts = self.confusion(predictor, replicas)
        found = batch_metrics(counts)
        if self._outside is not None:
            found["aspect_f1"] = aspect_f1(counts, self._outside)
            found["any_aspect_f1"] = any_aspect_f1(counts, self._outside)
            found |= self._by_aspect(counts, self._outside)
        return found if self._chunks is None else found | self._of_chunks(self._chunks, predictor, replicas)

    def _by_aspect(self, counts: Tensor, outside: int) -> dict[str, Tensor]:
        """F1 of each aspect, each (R,), where their names were given and are not too many to look at."""
        if not 0 < len(self._classes) <= ASPECTS_SHOWN:
            return {}
        f1 = per_class(counts).f1
        return {f"f1_{name}": f1[:, k] for k, name in enumerate(self._classes) if k != outside}

    def _of_chunks(self, chunks: TokenChunks, predictor: Predictor, replicas: Replicas) -> dict[str, Tensor]:
        """Figures of chunks; the portions of rows that are scored may part sentences, so whole views are counted."""
        parts: dict[tuple[int, int], list[tuple[Tensor, Tensor]]] = {}
        for span, docs, scores in self.scored(predictor, replicas):
            parts.setdefault((span.start, span.stop), []).append((docs, scores.argmax(dim=-1)))
        found: list[dict[str, Tensor]] = []
        for portions in parts.values():
            docs = torch.cat([part for part, _ in portions])
            predicted = torch.cat([part for _, part in portions], 1)
            found.append(chunks.metrics(self._gold[docs], predicted, docs))
        return {name: torch.cat([part[name] for part in found]) for name in found[0]} if found else {}

    def confusion(self, predictor: Predictor, replicas: Replicas) -> Tensor:
        """(R, gold classes, gold classes) int64: documents by gold and predicted class."""
        shape = (len(replicas), self._num_gold, self._num_gold)
        counts = torch.zeros(shape, dtype=torch.int64, device=self._gold.device)
        for span, docs, scores in self.scored(predictor, replicas):
            counts[span] += confusion(self._gold[docs], scores.argmax(dim=-1), self._num_gold)
        return counts

    def word_accuracy(self, predictor: Predictor, replicas: Replicas) -> list[dict[str, float]]:
        """Of each replica, by ambiguous word, the accuracy on those held-out documents that are contexts of the word,
        where there are any; nothing where documents are no contexts of several words."""
        rows = self._problem.rows
        if not isinstance(rows, WordRows):
            return [{} for _ in range(len(replicas))]
        words = len(rows.names)
        counts = torch.zeros(2, len(replicas), words, dtype=torch.float64)  # of right documents, of all
        for span, docs, scores in self.scored(predictor, replicas):
            of_word = torch.nn.functional.one_hot(rows.word[docs] + 1, words + 1)[:, 1:].double()
            right = (scores.argmax(dim=-1) == self._gold[docs]).double() @ of_word
            counts[:, span] += torch.stack([right, of_word.sum(0).expand_as(right)]).cpu()
        shares, known = (counts[0] / counts[1]).tolist(), (counts[1] > 0).tolist()
        return [
            {name: share for name, share, there in zip(rows.names, own, has, strict=True) if there}
            for own, has in zip(shares, known, strict=True)
        ]

    def scored(self, predictor: Predictor, replicas: Replicas) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """(replica slice, docs, scores (R of the slice, docs, K)): portions that cover all replicas and their rows."""
        views = self._problem.views
        for span, view in view_spans(replicas):
            width = (span.stop - span.start) * self._problem.num_classes
            for docs in self.docs[view].split(max(1, SCORES_AT_ONCE // width)):
                yield (
                    span,
                    docs,
                    predictor.scores(
                        self._problem.rows,
                        docs,
                        None if views.col_scale is None else views.col_scale[view],
                        None if views.row_scale is None else views.row_scale[view],
                        span,
                    ),
                )


def view_spans(replicas: Replicas) -> list[tuple[slice, int]]:
    """Runs of neighbouring replicas with one view."""
    if not len(replicas):
        return []
    values, counts = torch.unique_consecutive(replicas.view, return_counts=True)
    ends = counts.cumsum(0).tolist()
    starts = [0, *ends[:-1]]
    return [(slice(a, b), view) for a, b, view in zip(starts, ends, values.tolist(), strict=True)]
