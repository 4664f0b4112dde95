"""Figures of each ambiguous word, where every word has a model of its own (features.by_word)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.word_predictor import WordPredictor
from gpuclf.models.learner import Predictor


@dataclass(frozen=True)
class WordTraining:
    """What the model of a word was trained on. majority: the share of its most frequent class; entropy: of the shares
    of its classes, in bits."""

    training_documents: int
    classes: int
    majority: float
    entropy: float


@dataclass(frozen=True)
class JudgedWords:
    """Which word each of n judged documents is a context of: word (n,) int64, the place among `names`, -1 for a word
    that training did not have; training: of each word; fold (n,) int64: the fold that held a document out, None where
    there are no folds."""

    names: tuple[str, ...]
    training: tuple[WordTraining, ...]
    word: Tensor
    fold: Tensor | None = None


def judged_words(predictor: Predictor, rows: Rows, docs: Tensor, fold: Tensor | None = None) -> JudgedWords | None:
    """The words of documents (n,) int64 among rows; None for models of other things than several words."""
    if not isinstance(predictor, WordPredictor):
        return None
    assert isinstance(rows, WordRows), "contexts of several words"
    training = tuple(word_training(predictor, word) for word in range(len(rows.names)))
    return JudgedWords(rows.names, training, rows.word[docs.to(rows.word.device)].cpu(), fold)


def word_training(predictor: WordPredictor, word: int) -> WordTraining:
    """Of the first replica's model of a word."""
    own = predictor.of_word(word)
    shares = own.prior[0].exp().cpu()
    entropy = -float(torch.special.xlogy(shares, shares).sum()) / math.log(2)
    return WordTraining(int(own.documents[0]), len(predictor.classes[word]), float(shares.max()), max(0.0, entropy))


def joined_words(parts: Sequence[JudgedWords | None]) -> JudgedWords | None:
    """Of several shares of one file, in their order."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return JudgedWords(known[0].names, known[0].training, torch.cat([part.word for part in known]))


def word_figures(words: JudgedWords, right: Tensor) -> dict[str, Any]:
    """`per_word` of metrics.json, for documents of which right (n,) bool are: by word its documents and accuracy beside
    what its model was trained on; of held-out documents also the accuracy in each fold, in the order of folds (None
    where one holds out no context of the word), and the mean of these.

    accuracy_over_words: the mean of the words' accuracies. unknown_words: contexts of words that training did not have.
    """
    folds = [] if words.fold is None else torch.unique(words.fold).tolist()
    table: dict[str, dict[str, Any]] = {}
    for place, (name, training) in enumerate(zip(words.names, words.training, strict=True)):
        own = words.word == place
        row: dict[str, Any] = {"documents": int(own.sum()), "accuracy": _share(right[own]), **asdict(training)}
        if words.fold is not None:
            by_fold = [_share(right[own & (words.fold == fold)]) for fold in folds]
            row |= {"fold_mean": _mean(by_fold), "fold_accuracy": by_fold}
        table[name] = row
    values: dict[str, Any] = {"per_word": table}
    if (mean := _mean([row["accuracy"] for row in table.values()])) is not None:
        values["accuracy_over_words"] = mean
    unknown = words.word < 0
    if bool(unknown.any()):
        values["unknown_words"] = {"documents": int(unknown.sum()), "accuracy": _share(right[unknown])}
    return values


def _share(right: Tensor) -> float | None:
    return float(right.double().mean()) if right.numel() else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
