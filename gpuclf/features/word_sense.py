"""Contexts of an ambiguous word → codes of the parts of speech around it, and the words that a view learns sets of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Context, Encoded
from gpuclf.features.options import WordSenseOptions
from gpuclf.features.sense_rows import SenseRows

FORMAT = 1
_TYPE = "word_sense"
_BEGIN, _END, _UNTAGGED = "<s>", "</s>", "<none>"
Found = tuple[list[str], list[str]]  # a context's parts of speech by position, and its distinct words in order


class WordSenseEncoder:
    """tags: the parts of speech known at each position, in order, code v + 1 each; words: those of all contexts, in
    order. Code 0 is a part of speech that the position never had in the training file."""

    source = "contexts"
    collision_rate = None

    def __init__(self, options: WordSenseOptions, tags: list[list[str]], words: list[str]):
        self.options, self.tags, self.words = options, tags, words
        self._codes = [{tag: code for code, tag in enumerate(known, start=1)} for known in tags]
        self._numbers = {word: number for number, word in enumerate(words)}

    @property
    def names(self) -> list[str]:
        """The fixed inputs by name, then the words."""
        return [*position_names(self.options), *self.words]

    def value_name(self, name: str, code: int) -> str:
        """A value of a fixed input as a person reads it."""
        return "(unseen)" if not code else self.tags[position_names(self.options).index(name)][code - 1]

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """Rows of contexts under what was fitted."""
        context = Context()
        found = [one for chunk in context.followed(chunks) for one in read_contexts(chunk, self.options)]
        return context.encoded(*self.rows_of(found))

    def rows_of(self, found: Sequence[Found]) -> tuple[SenseRows, NDArray[np.int64], NDArray[np.bool_]]:
        """Rows of contexts; (docs,) the words of each that are unknown; (docs,) whether anything of it is known."""
        width = len(self.tags)
        codes = np.zeros((len(found), width), dtype=np.int32)
        lengths, words = np.zeros(len(found) + 1, dtype=np.int64), []
        unknown = np.zeros(len(found), dtype=np.int64)
        for place, (tags, held) in enumerate(found):
            codes[place] = [known.get(tag, 0) for known, tag in zip(self._codes, tags, strict=True)]
            numbers = [self._numbers[word] for word in held if word in self._numbers]
            words += numbers
            lengths[place + 1] = len(numbers)
            unknown[place] = len(held) - len(numbers)
        options = self.options
        rows = SenseRows(
            codes=torch.from_numpy(codes),
            num_values=tuple(1 + len(known) for known in self.tags),
            crow=torch.from_numpy(lengths.cumsum()),
            word=torch.tensor(words, dtype=torch.int32),
            num_words=len(self.words),
            per_class=options.collocations == "per_class_binary",
            threshold=options.threshold,
            leave_one_out=options.leave_one_out,
            min_count=options.min_count,
            top_words=options.top_words,
            names=tuple(position_names(options)),
        )
        return rows, unknown, (codes > 0).any(axis=1) | (lengths[1:] > 0)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json."""
        return {"format": FORMAT, "type": _TYPE, "tags": self.tags, "words": self.words}

    @classmethod
    def from_json(cls, data: dict[str, Any], options: WordSenseOptions) -> WordSenseEncoder:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        return cls(options, data["tags"], data["words"])


def position_names(options: WordSenseOptions) -> list[str]:
    """The inputs that are parts of speech: pos-2 … pos+2."""
    return [f"pos{place:+d}" for place in _positions(options)]


def input_names(encoder: WordSenseEncoder, classes: Iterable[str], rank: list[int]) -> list[str]:
    """All inputs of a model by name; rank (words,): the place of each frequent word among them, from 1, or 0."""
    options = encoder.options
    names = position_names(options)
    if options.collocations == "per_class_binary" and encoder.words:
        names += [f"words:{name}" for name in classes]
    placed = {place: word for word, place in zip(encoder.words, rank, strict=True) if place}
    return names + [f"has:{placed.get(place, '')}" for place in range(1, options.top_words + 1)]


def fit_word_sense(chunks: Iterable[Chunk], options: WordSenseOptions) -> tuple[WordSenseEncoder, Encoded]:
    """The encoder of all parts of speech and words that occur in the contexts, and the contexts encoded."""
    context = Context()
    found = [one for chunk in context.followed(chunks) for one in read_contexts(chunk, options)]
    encoder = encoder_of(found, options)
    return encoder, context.encoded(*encoder.rows_of(found))


def encoder_of(found: Sequence[Found], options: WordSenseOptions) -> WordSenseEncoder:
    """The encoder of all parts of speech and words that occur in these contexts. Raises UserFault for none."""
    if not found:
        raise UserFault("there is no context to learn features from", remedy="give a data file with records in it")
    tags = [sorted(set(at_place)) for at_place in zip(*(tags for tags, _ in found), strict=True)]
    words = sorted({word for _, held in found for word in held}) if options.uses_words else []
    if not tags and not words:
        raise UserFault(
            "no context has any feature", key="features", remedy="set pos_window, collocations or top_words"
        )
    return WordSenseEncoder(options, tags, words)


def _positions(options: WordSenseOptions) -> range:
    span = options.pos_window
    return range(0) if span is None else range(span[0], span[1] + 1)


def read_contexts(chunk: Chunk, options: WordSenseOptions) -> Iterator[Found]:
    """What the options take from each context of a chunk. Raises UserFault for a chunk of other documents."""
    contexts = chunk.contexts
    if contexts is None:
        raise UserFault(
            "word_sense needs contexts of an ambiguous word",
            key="features.type",
            remedy="use data.format wsd or senseval, or features: {type: bag_of_words}",
        )
    offsets = contexts.offsets.tolist()
    for start, end, head in zip(offsets[:-1], offsets[1:], contexts.heads.tolist(), strict=True):
        yield _tags(contexts.tags[start:end], head, options), _words(contexts.tokens[start:end], head, options)


def _tags(tags: list[str], head: int, options: WordSenseOptions) -> list[str]:
    found = []
    for offset in _positions(options):
        place = head + offset
        found.append(_BEGIN if place < 0 else _END if place >= len(tags) else tags[place] or _UNTAGGED)
    return found


def _words(tokens: list[str], head: int, options: WordSenseOptions) -> list[str]:
    """The distinct words around the head, in order; with bigrams also neighbouring pairs, joined by a blank."""
    if not options.uses_words:
        return []
    texts = [token.lower() for token in tokens] if options.lowercase else tokens
    reach = len(texts) if options.window is None else options.window
    low, high = max(0, head - reach), min(len(texts), head + reach + 1)
    held = {text for place, text in enumerate(texts[low:high], low) if place != head}
    if options.bigrams:
        held |= {f"{texts[place]} {texts[place + 1]}" for place in range(low, high - 1)}
    return sorted(held)
