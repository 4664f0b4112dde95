"""Snippets of reviews: spans that a trained model finds, each with the clause around it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from gpuclf.data.paths import as_written
from gpuclf.faults import UserFault
from gpuclf.features.review_context import ReviewContext
from gpuclf.train.model_file import Model
from gpuclf.train.review_spans import LabelledSentence, label_reviews
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.windows import snippet_span

_FORM = '{"business": name, "review": id, "text": …} or {"business": name, "review": id, "sentences": […]}'


def extract_snippets(model: Model, run: Path, file: Path) -> list[Snippet]:
    """The snippets of a file of reviews, in order.

    Raises UserFault for a model that was not trained on reviews, for reviews without a business, and where there is no
    review or no span.
    """
    if not isinstance(model.encoder, ReviewContext):
        raise UserFault(
            "was not trained on reviews, so it finds no aspects in them",
            file=run,
            remedy="give a run with data.format reviews, or ready snippets: gpuclf summarize --snippets FILE",
        )
    snippets: list[Snippet] = []
    sentences = 0
    for part in label_reviews(model, file, None, io.BytesIO()):
        for sentence in part:
            snippets += snippets_of(sentence, file)
        sentences += len(part)
    if not sentences:
        raise UserFault("holds no review", file=as_written(file), remedy=f"write a review a line, as {_FORM}")
    if not snippets:
        raise UserFault(
            f"the model finds no span in its {sentences:,} sentences",
            file=as_written(file),
            remedy="give reviews of the kind that the run was trained on",
        )
    return snippets


def snippets_of(sentence: LabelledSentence, file: Path) -> Iterator[Snippet]:
    """A snippet a span; of several spans of an aspect with the same snippet the first, since they are one remark."""
    if sentence.business is None:
        raise UserFault(
            f"review {sentence.review} names no business",
            file=as_written(file),
            remedy=f"say whom each review is about, as {_FORM}",
        )
    seen: set[tuple[str, int, int]] = set()
    for span in sentence.spans:
        begin, stop = snippet_span(sentence.text, span.start, span.end)
        if (span.aspect, begin, stop) in seen:
            continue
        seen.add((span.aspect, begin, stop))
        yield Snippet(
            business=sentence.business,
            aspect=span.aspect,
            text=sentence.text[begin:stop],
            review=sentence.review,
            place=(span.start - begin, span.end - begin),
            sentence=sentence.text,
        )
