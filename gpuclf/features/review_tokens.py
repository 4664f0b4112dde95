"""Sentences of reviews → tokens with their places in the text, and the aspect of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuclf.data.aspects import NONE
from gpuclf.data.records import Reviews, Sentences


@dataclass(frozen=True)
class PlacedTokens:
    """The tokens of sentences; token t is the characters begins[t] to ends[t] (tokens,) int64 of its sentence's text.

    Characters are code points of the text as it stands in the file, whatever normal form features have.
    """

    sentences: Sentences
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]


def placed_tokens(reviews: Reviews, pattern: re.Pattern[str]) -> PlacedTokens:
    """The tokens that a pattern finds (its group where it has one), with gold aspects where the reviews have spans.

    A token is of the aspect of a span with which it shares a character: the first such span, else NONE.
    """
    group = 1 if pattern.groups else 0
    tokens: list[str] = []
    begins: list[int] = []
    ends: list[int] = []
    lengths = np.zeros(len(reviews.texts) + 1, dtype=np.int64)
    gold: list[str] | None = None if reviews.spans is None else []
    for number, text in enumerate(reviews.texts):
        places = [found.span(group) for found in pattern.finditer(text)]
        places = [(begin, end) for begin, end in places if begin < end]
        tokens += [text[begin:end] for begin, end in places]
        begins += [begin for begin, _ in places]
        ends += [end for _, end in places]
        lengths[number + 1] = len(places)
        if gold is not None and reviews.spans is not None:
            gold += _aspects(places, reviews.spans[number])
    sentences = Sentences(np.cumsum(lengths), tokens, gold)
    return PlacedTokens(sentences, np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64))


def _aspects(places: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """The aspect of each token; places and spans rise, spans are disjoint."""
    left = iter(spans)
    span = next(left, None)
    for begin, end in places:
        while span is not None and span[1] <= begin:
            span = next(left, None)
        yield span[2] if span is not None and span[0] < end else NONE
