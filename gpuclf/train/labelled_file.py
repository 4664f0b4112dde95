"""The figures of trained models on a labelled file: read once, a chunk at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.rows import ReviewRows
from gpuclf.metrics.aspects import aspect_figures, top_token_figures
from gpuclf.metrics.calibration import top_class_reliability
from gpuclf.metrics.chunks import chunk_counts, chunk_figures, chunk_tags
from gpuclf.metrics.classification import classification_report
from gpuclf.metrics.confusion import confusion
from gpuclf.metrics.ranking import (
    average_precision_one_vs_rest,
    brier_score,
    log_loss,
    log_probabilities,
    precision_at_k,
    recall_at_k,
    roc_auc_one_vs_rest,
)
from gpuclf.train.corpus import documents, label_indices, outside_class, unknown_classes
from gpuclf.train.model_file import Model
from gpuclf.train.observer import Observer
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.token_chunks import token_chunks
from gpuclf.train.word_figures import JudgedWords, joined_words, judged_words, word_figures

_BEST = (1, 3, 5)  # how many of the best classes of a document are judged; fewer than there are classes


@dataclass(frozen=True)
class Predictions:
    """Documents with gold and scores. gold (docs,) int64 indexes classes, then classes the model does not know.

    scores (docs, K) float32; known, flagged (docs,) bool: any known feature; every class impossible. outside: the class
    of tokens of no aspect, -1 for none; None where documents are no such tokens.
    """

    ids: list[str]
    classes: tuple[str, ...]
    gold: Tensor
    scores: Tensor
    known: Tensor
    flagged: Tensor
    outside: int | None = None
    sentence: Tensor | None = None  # (docs,) the sentence of each token, where classes are tags of chunks
    words: JudgedWords | None = None  # where each ambiguous word has a model of its own

    @property
    def predicted(self) -> Tensor:
        """(docs,) int64; ties go to the first class."""
        return self.scores.argmax(dim=1)


def check_labelled(data: DataOptions, file: Path, index_base: int | None) -> None:
    """Raises the faults of a labelled file that its beginning tells, so that none comes up after training only."""
    for _ in open_reader(file, data, index_base=index_base).chunks():
        return
    raise UserFault("holds no document", file=file)


def read_labelled(
    model: Model, data: DataOptions, file: Path, role: str, observer: Observer, watch: Stopwatch
) -> Encoded:
    """The documents of a labelled file, encoded for the model and all others with its encoder."""
    reader = open_reader(file, data, index_base=model.index_base)
    with watch.timed("features"):
        encoded = model.encoder.encode(documents(reader, role, observer, watch))
    if encoded.labels is None:
        raise UserFault("has no labels", file=file, remedy="use predict for files without labels")
    return encoded


def predict_labelled(model: Model, encoded: Encoded, share: slice | None = None) -> Predictions:
    """Scores of labelled documents, of all or of one process's share.

    Labels that training did not know are kept: such documents count as errors.
    """
    assert encoded.labels is not None
    share = slice(0, len(encoded.ids)) if share is None else share
    scores, flagged = model.scores(encoded, share)
    classes = model.classes + unknown_classes(encoded.labels, model.classes)
    gold = torch.from_numpy(label_indices(encoded.labels[share], classes))
    known = torch.from_numpy(encoded.known[share])
    outside = outside_class(classes) if isinstance(encoded.rows, ReviewRows) else None
    chunks = token_chunks(encoded.rows, classes)
    docs = torch.arange(len(encoded.ids))[share]
    sentence = None if chunks is None else chunks.sentences(docs)
    words = judged_words(model.predictor, encoded.rows, docs)
    return Predictions(encoded.ids[share], classes, gold, scores[0], known, flagged, outside, sentence, words)


def joined(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of several shares of one file, in their order."""
    sentences = [part.sentence for part in parts if part.sentence is not None]
    return Predictions(
        ids=[name for part in parts for name in part.ids],
        classes=parts[0].classes,
        gold=torch.cat([part.gold for part in parts]),
        scores=torch.cat([part.scores for part in parts]),
        known=torch.cat([part.known for part in parts]),
        flagged=torch.cat([part.flagged for part in parts]),
        outside=parts[0].outside,
        sentence=torch.cat(sentences) if len(sentences) == len(parts) else None,
        words=joined_words([part.words for part in parts]),
    )


def _of_aspects(counts: Tensor, predictions: Predictions, outside: int) -> dict[str, Any]:
    values = aspect_figures(counts, outside)
    if 0 <= outside < predictions.scores.shape[1]:
        values["likeliest_tokens"] = top_token_figures(predictions.scores[:, outside], predictions.gold != outside)
    return values


def _of_covered(predictions: Predictions) -> dict[str, Any]:
    """Of a model that excludes every class of some documents (no smoothing): the documents that it does not, their
    share of all (recall: Pedersen, Bruce & Wiebe 1997) and the right ones among them (precision)."""
    covered = ~predictions.flagged
    right = (predictions.gold == predictions.predicted)[covered]
    count = right.numel()
    precision = float(right.double().mean()) if count else 0.0
    return {"documents": count, "recall": count / covered.numel(), "precision": precision}


def figures(predictions: Predictions, probabilities: bool, num_known: int) -> dict[str, Any]:
    """The figures of DESIGN §8 for one labelled file, JSON-able; says what classes unknown to the model did to them."""
    counts = confusion(predictions.gold, predictions.predicted, len(predictions.classes))
    values = classification_report(counts, predictions.classes, num_known).to_json()
    values["no_known_feature"] = int((~predictions.known).sum())
    if bool(predictions.flagged.any()):
        values["covered"] = _of_covered(predictions)
    if predictions.words is not None:
        values |= word_figures(predictions.words, predictions.gold == predictions.predicted)
    if predictions.sentence is not None:
        tags = chunk_tags(predictions.classes)
        assert tags is not None, "sentences are told of tags of chunks"
        found = chunk_counts(tags, predictions.gold, predictions.predicted[None], predictions.sentence)
        values |= chunk_figures(tags, found[0])
    if predictions.outside is not None:
        values |= _of_aspects(counts, predictions, predictions.outside)
    # Joint scores of one document say nothing beside another document's; its posteriors do.
    scores = log_probabilities(predictions.scores) if probabilities else predictions.scores
    ranking = {
        "roc_auc": roc_auc_one_vs_rest(scores, predictions.gold),
        "average_precision": average_precision_one_vs_rest(scores, predictions.gold),
    }
    for name, figure in ranking.items():
        values[f"macro_{name}"] = figure.mean
        values[f"macro_{name}_leaves_out"] = [predictions.classes[index] for index in figure.undefined]
        values[f"{name}_by_class"] = {
            predictions.classes[index]: value
            for index, value in enumerate(figure.per_class.tolist())
            if index not in figure.undefined
        }
    for k in (k for k in _BEST if k < scores.shape[1]):
        values[f"precision_at_{k}"] = precision_at_k(scores, predictions.gold, k)
        values[f"recall_at_{k}"] = recall_at_k(scores, predictions.gold, k)
    if probabilities:
        loss = log_loss(scores, predictions.gold)
        values |= {"log_loss": loss.mean, "log_loss_infinite_documents": loss.infinite}
        values["brier"] = brier_score(scores.exp(), predictions.gold)
        reliability = top_class_reliability(scores.exp(), predictions.gold)
        values["expected_calibration_error"] = reliability.expected_calibration_error
        values["reliability"] = reliability.to_json()
    return values
