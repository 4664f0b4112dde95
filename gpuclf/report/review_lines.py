"""What `gpuclf predict` prints of reviews: a line of JSON for each sentence, with the spans that were found in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from gpuclf.train.model_file import Model
from gpuclf.train.review_spans import FoundSpan, LabelledSentence, label_reviews


def predict_spans(model: Model, file: Path | None, given_format: str | None, stdin: BinaryIO, out: IO[str]) -> None:
    """Prints the labelled sentences of a file or of standard input, as they are found."""
    for part in label_reviews(model, file, given_format, stdin):
        out.write("".join(f"{line}\n" for line in sentence_lines(part)))
        out.flush()


def sentence_lines(sentences: Iterable[LabelledSentence]) -> Iterator[str]:
    """{"business", "review", "sentence", "begin"?, "text", "spans": [{"start", "end", "text", "aspect",
    "probability"?}]}: sentence counts from 1; start and end count characters of the sentence's text, end is the place
    after the last; begin is the sentence's place in a review that was given as one text. No business: null.
    """
    for sentence in sentences:
        record: dict[str, Any] = {
            "business": sentence.business,
            "review": sentence.review,
            "sentence": sentence.number,
            "begin": sentence.begin,
            "text": sentence.text,
            "spans": [_span(span) for span in sentence.spans],
        }
        if sentence.begin is None:
            del record["begin"]
        yield json.dumps(record, ensure_ascii=False)


def _span(span: FoundSpan) -> dict[str, Any]:
    record: dict[str, Any] = {"start": span.start, "end": span.end, "text": span.text, "aspect": span.aspect}
    return record if span.probability is None else record | {"probability": round(span.probability, 6)}
