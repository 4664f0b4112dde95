"""A saved model of aspects on new reviews: the spans that it finds in each sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from gpuclf.data.aspects import NONE
from gpuclf.data.open import open_reader, open_text_stream
from gpuclf.data.options import REVIEWS
from gpuclf.data.records import Chunk, Reviews
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.review_context import ReviewContext
from gpuclf.train.distribution import rank
from gpuclf.train.model_file import Model


@dataclass(frozen=True)
class FoundSpan:
    """Neighbouring tokens of one aspect: the characters start to end of the sentence, which are `text`.

    probability: the mean of P(aspect) of its tokens; None where the model has none to give.
    """

    start: int
    end: int
    text: str
    aspect: str
    probability: float | None


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence of a review, counted from 1. begin: its place in a review that is given as one text, else None."""

    business: str | None
    review: str
    number: int
    begin: int | None
    text: str
    spans: tuple[FoundSpan, ...]


def label_reviews(
    model: Model, file: Path | None, given_format: str | None, stream: BinaryIO
) -> Iterator[list[LabelledSentence]]:
    """The sentences of a file or of standard input with their spans, some reviews at a time, every sentence once.

    Under torchrun the first process answers alone. Raises UserFault where the input is no reviews.
    """
    encoder = model.encoder
    assert isinstance(encoder, ReviewContext), "the model labels tokens of reviews"
    if given_format not in (None, REVIEWS):
        raise UserFault(
            f"the model reads reviews, and --input-format is {given_format}",
            remedy='write a review a line, as {"review": id, "text": …}, and leave --input-format out',
        )
    if rank() != 0:
        return
    options = model.data.model_copy(update={"format": REVIEWS})
    if file is None:
        reader = open_text_stream(stream, options, format=REVIEWS)
    else:
        reader = open_reader(file.absolute(), options, labelled=False)
    for chunk in reader.chunks():
        yield _labelled(model, encoder, chunk)


def _labelled(model: Model, encoder: ReviewContext, chunk: Chunk) -> list[LabelledSentence]:
    reviews, placed, encoded = chunk.reviews, encoder.place(chunk), encoder.encode([chunk])
    assert reviews is not None
    labels = model.scores(encoded)[0][0].argmax(dim=1)  # ties go to the first class
    chance = _probabilities(model, encoded, labels)
    names = [model.classes[label] for label in labels.tolist()]
    offsets, begins, ends = placed.sentences.offsets.tolist(), placed.begins.tolist(), placed.ends.tolist()
    found = []
    for review, number, sentence in _numbered(reviews):
        text = reviews.texts[sentence]
        spans = []
        tokens = range(offsets[sentence], offsets[sentence + 1])
        for aspect, group in groupby(tokens, key=lambda token: names[token]):
            run = list(group)
            if aspect == NONE:
                continue
            start, end = begins[run[0]], ends[run[-1]]
            mean = None if chance is None else float(chance[run[0] : run[-1] + 1].mean())
            spans.append(FoundSpan(start, end, text[start:end], aspect, mean))
        begin = int(reviews.begins[sentence])
        found.append(
            LabelledSentence(
                business=reviews.businesses[review],
                review=reviews.ids[review],
                number=number,
                begin=None if begin < 0 else begin,
                text=text,
                spans=tuple(spans),
            )
        )
    return found


def _numbered(reviews: Reviews) -> Iterator[tuple[int, int, int]]:
    """(review, sentence of it from 1, sentence of all), in order."""
    starts = reviews.starts.tolist()
    for review in range(len(reviews.ids)):
        for sentence in range(starts[review], starts[review + 1]):
            yield review, sentence - starts[review] + 1, sentence


def _probabilities(model: Model, encoded: Encoded, labels: Tensor) -> Tensor | None:
    """(tokens,) float64: P(its label) of each token, whatever decides about labels; None for scores of other kinds."""
    if not model.probabilities:
        predictor: Any = model.predictor
        if getattr(predictor, "decode", "marginal") == "marginal":
            return None
        model = replace(model, predictor=replace(predictor, decode="marginal"))
    scores = model.scores(encoded)[0][0].to(torch.float64)
    return torch.softmax(scores, dim=1).gather(1, labels[:, None]).flatten()
