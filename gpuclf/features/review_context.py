"""Reviews → rows of tokens for a learner of sequences, and content words of sentences for a model of their topics."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.data.records import Chunk
from gpuclf.data.word_classes import read_word_classes
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.neighbour_words import neighbour_names, with_neighbours
from gpuclf.features.options import ReviewContextOptions
from gpuclf.features.review_tokens import PlacedTokens, placed_tokens
from gpuclf.features.review_words import ReviewWords
from gpuclf.features.rows import ReviewRows, SequenceRows
from gpuclf.features.stop_words import ENGLISH
from gpuclf.features.token_context import TokenContext, fit_token_context
from gpuclf.features.token_pattern import compile_pattern
from gpuclf.features.tokenizer import text_normalizer

FORMAT = 1
_TYPE = "review_context"


class ReviewContext:
    """tokens: the features of tokens; words: the content words, in order of code point; classes: of words, from
    features.word_classes."""

    source = "reviews"
    collision_rate = None

    def __init__(
        self,
        options: ReviewContextOptions,
        tokens: TokenContext,
        words: list[str],
        classes: dict[str, str] | None = None,
    ):
        self.options, self.tokens, self.words, self.classes = options, tokens, words, classes
        self._pattern = compile_pattern(options.token_pattern)
        self._numbers = {word: number for number, word in enumerate(words)}

    @property
    def num_features(self) -> int:
        return len(self.names)

    @property
    def names(self) -> list[str]:
        """The features of tokens by name."""
        return self.tokens.names + neighbour_names(self.words, self.options.neighbours)

    def place(self, chunk: Chunk) -> PlacedTokens:
        """The tokens of a chunk's reviews, as `encode` takes them, and where they stand."""
        return placed_tokens(_reviews(chunk), self._pattern)

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """The tokens of reviews, a row each; values and words that are new leave none."""
        tally = _Tally(self._pattern, _content(self.options), _class_of(self.classes, self.options))
        encoded = self.tokens.encode(tally.followed(chunks))
        return _with_words(encoded, tally, self._numbers, self.options.neighbours)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json."""
        classes = {} if self.classes is None else {"classes": self.classes}
        return {"format": FORMAT, "type": _TYPE, "tokens": self.tokens.to_json(), "words": self.words} | classes

    @classmethod
    def from_json(cls, data: dict[str, Any], options: ReviewContextOptions) -> ReviewContext:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        return cls(options, TokenContext.from_json(data["tokens"], options), data["words"], data.get("classes"))


def fit_review_context(
    chunks: Iterable[Chunk], unlabelled: Iterable[Chunk], options: ReviewContextOptions
) -> tuple[ReviewContext, Encoded]:
    """The encoder of all values and content words that occur, and the rows; reads `chunks`, then `unlabelled`, once.

    Content words are those of two reviews at least, of both together. Unlabelled reviews teach no value of a token.
    """
    pattern, content = compile_pattern(options.token_pattern), _content(options)
    path = options.word_classes
    classes = None if path is None else read_word_classes(path, "features.word_classes")
    tally, beside = _Tally(pattern, content, _class_of(classes, options)), _Tally(pattern, content)
    tokens, encoded = fit_token_context(tally.followed(chunks), options)
    for _ in beside.followed(unlabelled):
        pass
    documents = tally.documents()
    for word, count in beside.documents().items():
        documents[word] = documents.get(word, 0) + count
    words = sorted(word for word, count in documents.items() if count > 1)
    encoder = ReviewContext(options, tokens, words, classes)
    rows = _with_words(encoded, tally, encoder._numbers, options.neighbours)
    if beside.num_reviews:
        assert isinstance(rows.rows, ReviewRows)
        _, found = beside.words(encoder._numbers)
        rows = replace(rows, rows=replace(rows.rows, unlabelled=found))
    return encoder, rows


def _with_words(encoded: Encoded, tally: _Tally, numbers: dict[str, int], neighbours: int) -> Encoded:
    rows = encoded.rows
    assert isinstance(rows, SequenceRows)
    token_word, reviews = tally.words(numbers)
    with_words = ReviewRows(
        rows.crow, rows.col, rows.val, rows.num_features, rows.starts, torch.from_numpy(token_word), reviews
    )
    return replace(encoded, rows=with_neighbours(with_words, neighbours) if neighbours else with_words)


def _content(options: ReviewContextOptions) -> Callable[[str], str]:
    """What a model of topics reads of a token: its case-folded form; "" for a stop word, or where no letter is."""
    fold = text_normalizer(options.normalize, lowercase=True)
    stopped = ENGLISH if options.stop_words == "english" else {fold(word).casefold() for word in options.stop_words}

    def content(token: str) -> str:
        word = fold(token).casefold()
        return word if any(char.isalpha() for char in word) and word not in stopped else ""

    return content


def _class_of(classes: dict[str, str] | None, options: ReviewContextOptions) -> Callable[[str], str] | None:
    """The class of a token, as it is spelt or in lower case; <unknown> for a word that the file has not."""
    if classes is None:
        return None
    same, lower = (text_normalizer(options.normalize, lowercase=lowercase) for lowercase in (False, True))
    return lambda token: classes.get(same(token)) or classes.get(lower(token)) or "<unknown>"


def _reviews(chunk: Chunk) -> Any:
    if chunk.reviews is None:
        raise UserFault(
            "review_context needs reviews, and the data holds none",
            key="features.type",
            remedy="use data.format reviews",
        )
    return chunk.reviews


@dataclass
class _Tally:
    """The reviews read so far: the content word of each token, by number in order of appearance, and what it is of."""

    pattern: re.Pattern[str]
    content: Callable[[str], str]
    class_of: Callable[[str], str] | None = None
    num_reviews: int = 0
    _known: dict[str, str] = field(default_factory=dict)  # tokens → content words
    _numbers: dict[str, int] = field(default_factory=dict)  # content words; "" is 0

    def __post_init__(self) -> None:
        self._numbers[""] = 0
        self._tokens: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
        self._lengths: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]  # of sentences, in tokens
        self._sizes: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]  # of reviews, in sentences

    def followed(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The chunks with their tokens in place of texts, noted as they pass."""
        for chunk in chunks:
            reviews = _reviews(chunk)
            sentences = placed_tokens(reviews, self.pattern).sentences
            self._tokens.append(
                np.fromiter(map(self._number, sentences.tokens), dtype=np.int64, count=len(sentences.tokens))
            )
            self._lengths.append(np.diff(sentences.offsets))
            self._sizes.append(np.diff(reviews.starts))
            self.num_reviews += len(reviews.ids)
            if self.class_of is not None:
                sentences = replace(sentences, inputs={"class": list(map(self.class_of, sentences.tokens))})
            yield replace(chunk, reviews=None, sentences=sentences)

    def _number(self, token: str) -> int:
        word = self._known.get(token)
        if word is None:
            word = self._known[token] = self.content(token)
        return self._numbers.setdefault(word, len(self._numbers))

    def documents(self) -> dict[str, int]:
        """In how many reviews each content word stands."""
        _, words = self.words(self._numbers)
        counts = words.documents(torch.ones(self.num_reviews, dtype=torch.bool)).tolist()
        return {word: counts[number] for word, number in self._numbers.items() if word}

    def words(self, numbers: dict[str, int]) -> tuple[NDArray[np.int32], ReviewWords]:
        """By the numbers of a vocabulary: the word (tokens,) of each token, -1 for none, and the words of sentences."""
        own = np.array([numbers.get(word, -1) if word else -1 for word in self._numbers], dtype=np.int64)
        of_token = own[np.concatenate(self._tokens)]
        lengths = np.concatenate(self._lengths)
        sentence = np.repeat(np.arange(lengths.size), lengths)
        held = of_token >= 0
        width = max(len(numbers), 1)
        pairs, counts = np.unique(sentence[held] * width + of_token[held], return_counts=True)
        crow = np.concatenate([[0], np.cumsum(np.bincount(pairs // width, minlength=lengths.size))])
        found = ReviewWords(
            starts=torch.from_numpy(np.concatenate([[0], np.cumsum(np.concatenate(self._sizes))]).astype(np.int64)),
            crow=torch.from_numpy(crow.astype(np.int64)),
            word=torch.from_numpy((pairs % width).astype(np.int32)),
            count=torch.from_numpy(counts.astype(np.float32)),
            num_words=len(numbers),
        )
        return of_token.astype(np.int32), found
