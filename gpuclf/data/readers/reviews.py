"""Reviews, one a line of JSON, in the forms of gpuclf.data.readers.review_forms: documents are their sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuclf.data.aspects import NONE, AspectMap, UnknownCategory
from gpuclf.data.intake import Intake
from gpuclf.data.readers.review_forms import BadReview, Mark, MarkedReview, MarkedSentence, read_review
from gpuclf.data.records import Reviews

_FORM = '{"review": id, "sentences": [{"text": …, "spans": [{"start": …, "end": …, "aspect": …}]}]}'
_REMEDY = f"write a review a line, as {_FORM}; offsets count characters from 0, end is the place after the last"

Span = tuple[int, int, str]


class ReviewBody:
    """Collects the sentences of reviews; `with_spans` their spans as well."""

    def __init__(self, with_spans: bool) -> None:
        self.with_spans = with_spans
        self._start()

    def _start(self) -> None:
        self._ends = [0]
        self._ids: list[str] = []
        self._businesses: list[str | None] = []
        self._texts: list[str] = []
        self._begins: list[int] = []
        self._spans: list[list[Span]] = []

    def append(self, id: str, business: str | None, sentences: Sequence[tuple[str, int, list[Span]]]) -> None:
        """One review: text, begin and spans of each sentence (no spans where they are not collected)."""
        self._ids.append(id)
        self._businesses.append(business)
        for text, begin, spans in sentences:
            self._texts.append(text)
            self._begins.append(begin)
            self._spans.append(spans)
        self._ends.append(len(self._texts))

    def build(self) -> dict[str, Any]:
        """The reviews since the last call."""
        starts, begins = np.array(self._ends, dtype=np.int64), np.array(self._begins, dtype=np.int64)
        spans = self._spans if self.with_spans else None
        found = Reviews(starts, self._ids, self._businesses, self._texts, begins, spans)
        self._start()
        return {"reviews": found}


class ReviewsParser:
    """Blank lines are passed over. Read with labels, every sentence says what is marked in it, nothing too.

    A span that several categories share is of the aspect given first; any other overlap of two aspects is bad. Spans of
    one aspect may overlap. What the map calls NONE is no span.
    """

    keep_cr = False

    def __init__(self, intake: Intake, body: ReviewBody):
        self._intake, self._body = intake, body
        self._map = AspectMap(intake.options.aspects)
        self._sentences = self._blank = self._implicit = self._shared = 0
        self._by_aspect: Counter[str] = Counter()

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """One review a line."""
        options = self._intake.options
        id, group = (None if ref is None else str(ref) for ref in (options.id, options.group))
        for line, text in enumerate(lines, first):
            if not text.strip(" \t\r"):
                self._blank += 1
                continue
            try:
                review = read_review(text, id, group, required=not self._intake.predicting)
                sentences = self._checked(review)
            except BadReview as bad:
                self._intake.bad(line, str(bad), bad.remedy or _REMEDY)
                continue
            if self._intake.admit_parts(line, len(sentences), id=review.id, group=review.group):
                self._take(review, sentences)

    def _checked(self, review: MarkedReview) -> list[tuple[str, int, list[Span]]]:
        """The sentences with their spans. A review without a word is answered where predictions are wanted."""
        sentences = review.sentences
        if not any(sentence.text.strip() for sentence in sentences):
            if not self._intake.predicting:
                raise BadReview("the review has no sentence" if not sentences else "the review is empty", "remove it")
            sentences = sentences or (MarkedSentence("", None),)
        if not self._body.with_spans:
            return [(sentence.text, sentence.begins, []) for sentence in sentences]
        return [(s.text, s.begins, self._spans(s, number)) for number, s in enumerate(sentences, start=1)]

    def _spans(self, sentence: MarkedSentence, number: int) -> list[Span]:
        if sentence.marks is None:
            raise BadReview(
                f"sentence {number} does not say which words are of which aspect",
                'give each sentence "spans", [] where there are none; reviews without them belong in data.unlabelled',
            )
        found: list[Span] = []
        for mark in sorted(sentence.marks, key=lambda mark: (mark.start, mark.end)):  # stable: in the order given
            aspect = self._aspect(mark, number)
            if aspect == NONE:
                continue
            if found and mark.start < found[-1][1]:
                self._overlap(found, (mark.start, mark.end, aspect), number)
            else:
                found.append((mark.start, mark.end, aspect))
        return found

    def _aspect(self, mark: Mark, number: int) -> str:
        try:
            return self._map.aspect(mark.category)
        except UnknownCategory as unknown:
            raise BadReview(
                f"sentence {number}: {unknown}",
                "say which aspect it is in data.aspects, as in {'FOOD#*': food, '*#PRICES': value, OTHER: NONE}",
            ) from None

    def _overlap(self, found: list[Span], new: Span, number: int) -> None:
        """What becomes of a span that begins within the one before it."""
        start, end, aspect = found[-1]
        if aspect == new[2]:
            found[-1] = (start, max(end, new[1]), aspect)
        elif (start, end) == new[:2]:
            self._shared += 1
        else:
            raise BadReview(
                f"sentence {number}: the spans {start}-{end} ({aspect}) and {new[0]}-{new[1]} ({new[2]}) overlap",
                "give each word one aspect: make the spans apart, or the same",
            )

    def _take(self, review: MarkedReview, sentences: list[tuple[str, int, list[Span]]]) -> None:
        name = review.id if review.id is not None else str(self._intake.number)
        self._body.append(name, review.business, sentences)
        self._sentences += len(sentences)
        if self._body.with_spans:
            self._by_aspect.update(aspect for _, _, spans in sentences for _, _, aspect in spans)
            self._implicit += sum(sentence.implicit for sentence in review.sentences)

    def finish(self) -> None:
        """Tells what was read, and what was passed over."""
        intake = self._intake
        by_aspect = ", ".join(f"{aspect} {count:,}" for aspect, count in sorted(self._by_aspect.items()))
        spans = f"; {sum(self._by_aspect.values()):,} spans: {by_aspect}" if by_aspect else ""
        intake.note(f"{intake.report.records:,} reviews of {self._sentences:,} sentences{spans}")
        if self._implicit:
            intake.note(f"opinions that no word names, passed over: {self._implicit:,}")
        if self._shared:
            intake.note(f"further aspects of one span, passed over, as the one given first counts: {self._shared:,}")
        if self._blank:
            intake.note(f"{self._blank} blank lines were passed over")
