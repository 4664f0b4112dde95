"""Contexts of several ambiguous words → rows of each word, under an encoder and with classes of its own.

Every word is encoded as gpuclf.features.word_sense encodes a file with its contexts alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.data.class_order import class_order
from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Context, Encoded
from gpuclf.features.options import WordSenseOptions
from gpuclf.features.word_rows import WordRows
from gpuclf.features.word_sense import Found, WordSenseEncoder, encoder_of, read_contexts

FORMAT = 1
_TYPE = "sense_words"
_Named = tuple[str, Found]  # the ambiguous word of a context, and what is taken from it


class SenseWordsEncoder:
    """words: the ambiguous words in order; encoders, own_classes: of each, the latter by name, in the order of
    `classes`, which are those of all words. Contexts of any other word have no known feature."""

    source = "contexts"
    collision_rate = None

    def __init__(
        self,
        options: WordSenseOptions,
        words: Sequence[str],
        encoders: Sequence[WordSenseEncoder],
        own_classes: Sequence[Sequence[str]],
        classes: Sequence[str],
    ):
        self.options, self.words, self.encoders = options, tuple(words), tuple(encoders)
        self.own_classes = tuple(tuple(own) for own in own_classes)
        self.classes = tuple(classes)

    @property
    def names(self) -> list[str]:
        """The names of every word's encoder, such as art.n:pos-1, one word after the other."""
        return [f"{word}:{name}" for word, own in zip(self.words, self.encoders, strict=True) for name in own.names]

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """Rows of contexts under what was fitted."""
        context = Context()
        found = [one for chunk in context.followed(chunks) for one in _read(chunk, self.options)]
        return self._encoded(context, found)

    def _encoded(self, context: Context, found: Sequence[_Named]) -> Encoded:
        number = {word: place for place, word in enumerate(self.words)}
        word = np.array([number.get(name, -1) for name, _ in found], dtype=np.int64)
        place = np.zeros(len(found), dtype=np.int64)
        unknown = np.array([len(held) for _, (_, held) in found], dtype=np.int64)
        known = np.zeros(len(found), dtype=np.bool_)
        parts = []
        for part, docs in enumerate(_docs_of(word, len(self.words))):
            rows, unknown[docs], known[docs] = self.encoders[part].rows_of([found[doc][1] for doc in docs.tolist()])
            place[docs] = np.arange(len(docs))
            parts.append(rows)
        rank = {name: index for index, name in enumerate(self.classes)}
        classes = tuple(tuple(rank[name] for name in own) for own in self.own_classes)
        both = torch.from_numpy(word), torch.from_numpy(place)
        return context.encoded(WordRows(tuple(parts), self.words, classes, *both), unknown, known)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json."""
        each = [
            {"word": word, "classes": list(own), "tags": encoder.tags, "words": encoder.words}
            for word, own, encoder in zip(self.words, self.own_classes, self.encoders, strict=True)
        ]
        return {"format": FORMAT, "type": _TYPE, "classes": list(self.classes), "words": each}

    @classmethod
    def from_json(cls, data: dict[str, Any], options: WordSenseOptions) -> SenseWordsEncoder:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        each = data["words"]
        encoders = [WordSenseEncoder(options, one["tags"], one["words"]) for one in each]
        own = [one["classes"] for one in each]
        return cls(options, [one["word"] for one in each], encoders, own, data["classes"])


def fit_sense_words(chunks: Iterable[Chunk], options: WordSenseOptions) -> tuple[SenseWordsEncoder, Encoded]:
    """The encoder of each ambiguous word by its own contexts, and the contexts encoded.

    Classes are in the order of all labels of the file; one word's classes alone may have another order where all of
    them are integers, and other words' are not.
    Raises: UserFault where there is no context, a context whose word is not named, or a word without any feature.
    """
    context = Context()
    found = [one for chunk in context.followed(chunks) for one in _read(chunk, options)]
    if not found:
        raise UserFault("there is no context to learn features from", remedy="give a data file with records in it")
    words = sorted({name for name, _ in found})
    number = {word: place for place, word in enumerate(words)}
    labels = context.labels or []  # a file without any is refused when it is trained on
    classes = class_order(labels)
    encoders, own_classes = [], []
    for part, docs in enumerate(_docs_of(np.array([number[name] for name, _ in found]), len(words))):
        encoders.append(_encoder(words[part], [found[doc][1] for doc in docs.tolist()], options))
        own = {labels[doc] for doc in docs.tolist()} if labels else set()
        own_classes.append([name for name in classes if name in own])
    encoder = SenseWordsEncoder(options, words, encoders, own_classes, classes)
    return encoder, encoder._encoded(context, found)


def _encoder(word: str, found: Sequence[Found], options: WordSenseOptions) -> WordSenseEncoder:
    try:
        return encoder_of(found, options)
    except UserFault as fault:
        raise UserFault(f"of the word {word!r}, {fault.message}", key=fault.key, remedy=fault.remedy) from fault


def _docs_of(word: NDArray[np.int64], parts: int) -> list[NDArray[np.int64]]:
    """The documents of each part, rising, for the part of each document (docs,), -1 for none."""
    order = np.argsort(word, kind="stable")
    return np.split(order, np.searchsorted(word[order], np.arange(parts + 1)))[1:-1]


def _read(chunk: Chunk, options: WordSenseOptions) -> Iterator[_Named]:
    """The word of each context of a chunk, and what the options take from it."""
    found = list(read_contexts(chunk, options))
    words = None if chunk.contexts is None else chunk.contexts.words
    if words is None:
        raise UserFault(
            "a model for each ambiguous word needs the word of every context, which not all records from line "
            f"{chunk.lines[0]} on name",
            key="features.by_word",
            remedy="name its field in data.word (senseval: put instances into <lexelt item=…>), or leave by_word out",
        )
    return zip(words, found, strict=True)
