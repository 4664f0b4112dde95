"""Sentences → numbered word types with the codes of their spelling: fitted in one pass, then applied to new text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.data.class_order import class_order
from gpuclf.data.records import Chunk, Sentences
from gpuclf.faults import UserFault
from gpuclf.features.options import WordTypesOptions
from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.features.token_pattern import compile_pattern, find_tokens
from gpuclf.features.tokenizer import text_normalizer
from gpuclf.features.type_templates import templates_of

FORMAT = 1
RARE = ""  # the name of the class of rare words, which no token can have
UNSEEN_VALUE = -1


@dataclass(frozen=True)
class EncodedSentences:
    """A file's sentences in file order, and what goes with each of them.

    corpus: types below `num_known` are those of the encoder, in its order; then come `new_types`, as the file brings
        them, by code point. A corpus that was fitted has no new types.
    gold (tokens,) int64 indexes gold_classes, which are those of this file, in class order; for scoring only. None
        where the file was read without gold tags.
    tokens: the tokens as they stand in the file, where they were asked for.
    """

    corpus: TypeCorpus
    num_known: int
    new_types: list[str]
    ids: list[str]
    lines: list[int]
    gold: Tensor | None
    gold_classes: tuple[str, ...]
    tokens: list[str] | None = None

    @property
    def num_unknown_tokens(self) -> int:
        """Tokens of new types."""
        return int((self.corpus.ids >= self.num_known).sum())


class WordTypes:
    """A fitted numbering of word types and of the values of their templates; the same after a trip through JSON.

    names: the types by code point; type t is names[t]. With `min_count`, the first may be "", the class of rare words.
    values: by template, its values by code point; value v has code v.
    """

    def __init__(self, options: WordTypesOptions, names: Sequence[str], values: dict[str, list[str]]):
        self.options = options
        self.names = list(names)
        self.values = values
        self._templates = templates_of(options)
        assert list(self._templates) == list(values), "templates are those of the options"

    def __len__(self) -> int:
        return len(self.names)

    @property
    def folds_rare(self) -> bool:
        """Whether rare words, and so unseen ones, are one type."""
        return self.names[:1] == [RARE]

    @cached_property
    def type_codes(self) -> Tensor:
        """(types, templates) int32."""
        return self._codes(self.names)

    def encode(self, chunks: Iterable[Chunk], *, keep_tokens: bool = False) -> EncodedSentences:
        """Sentences under the fitted numbering; unseen words become new types, or the rare class where there is one."""
        tally = _Tally(self.options, keep_tokens)
        for chunk in chunks:
            tally.add(chunk)
        names = tally.type_names()
        index = {name: number for number, name in enumerate(self.names)}
        unseen = {name for name in names if name not in index}
        new_types: list[str] = [] if self.folds_rare else sorted(unseen)
        index.update({name: len(self) + place for place, name in enumerate(new_types)})
        types = np.array([index.get(name, 0) for name in names], dtype=np.int32)
        codes = torch.cat([self.type_codes, self._codes(new_types)]) if new_types else self.type_codes
        return tally.finish(types, codes, self._num_values, len(self), new_types)

    @property
    def _num_values(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.values.values())

    def _codes(self, names: Sequence[str]) -> Tensor:
        """(names, templates) int32; -1 for a value that was not seen when the encoder was fitted."""
        codes = np.empty((len(names), len(self.values)), dtype=np.int32)
        for column, (template, values) in enumerate(zip(self._templates.values(), self.values.values(), strict=True)):
            code = {value: number for number, value in enumerate(values)}
            codes[:, column] = [code.get(template(name), UNSEEN_VALUE) for name in names]
        return torch.from_numpy(codes)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json; unicode says whose tables told capitals, digits and punctuation."""
        return {
            "format": FORMAT,
            "type": self.options.type,
            "unicode": unicodedata.unidata_version,
            "types": self.names,
            "values": self.values,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], options: WordTypesOptions) -> WordTypes:
        """The numbering that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(
                f"word types format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it"
            )
        assert data["type"] == options.type, f"word types of type {data['type']} under options of {options.type}"
        return cls(options, data["types"], {name: list(values) for name, values in data["values"].items()})


def fit_word_types(chunks: Iterable[Chunk], options: WordTypesOptions) -> tuple[WordTypes, EncodedSentences]:
    """The types of all sentences, numbered by code point whatever the order of reading, and the sentences encoded.

    Reads the chunks once. Raises: UserFault where no sentence has a token.
    """
    tally = _Tally(options)
    for chunk in chunks:
        tally.add(chunk)
    if not tally.num_tokens:
        raise UserFault("there is no word to learn from", remedy="give a data file with sentences in it")
    spelt = tally.type_names()
    counts: dict[str, int] = {}
    for name, count in zip(spelt, tally.counts().tolist(), strict=True):
        counts[name] = counts.get(name, 0) + count
    rare = {name for name, count in counts.items() if count < options.min_count}
    names = sorted(counts.keys() - rare | ({RARE} if rare else set()))
    values = {name: sorted(set(map(template, names))) for name, template in templates_of(options).items()}
    word_types = WordTypes(options, names, values)
    index = {name: number for number, name in enumerate(names)}
    types = np.array([index[RARE if name in rare else name] for name in spelt], dtype=np.int32)
    return word_types, tally.finish(types, word_types.type_codes, word_types._num_values, len(names), [])


@dataclass
class _Tally:
    """Tokens numbered by the first appearance of their spelling, and everything else about the sentences."""

    options: WordTypesOptions
    keep_tokens: bool = False
    spellings: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] | None = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers: list[NDArray[np.int32]] = []
        self._tag_numbers: list[NDArray[np.int32]] = []
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]
        self._pattern = compile_pattern(self.options.token_pattern)
        self._normalize = text_normalizer(self.options.normalize, lowercase=False)

    @property
    def num_tokens(self) -> int:
        return sum(map(len, self._numbers))

    def add(self, chunk: Chunk) -> None:
        """The sentences of one chunk."""
        sentences = chunk.sentences if chunk.sentences is not None else self._tokenized(chunk)
        self.ids += chunk.ids
        self.lines += chunk.lines
        self._lengths.append(np.diff(sentences.offsets))
        self._numbers.append(_numbered(sentences.tokens, self.spellings))
        if self.keep_tokens:
            self.tokens += sentences.tokens
        if sentences.gold is None:
            self.tags = None
        elif self.tags is not None:
            self._tag_numbers.append(_numbered(sentences.gold, self.tags))

    def _tokenized(self, chunk: Chunk) -> Sentences:
        if chunk.texts is None:
            raise UserFault(
                "word_types cannot use what the data holds: features, not sentences",
                key="features.type",
                remedy="use data with sentences (data.format conll, conllu or sentences) or texts",
            )
        found = [find_tokens(self._pattern, self._normalize(text)) for text in chunk.texts]
        offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
        return Sentences(offsets, [token for tokens in found for token in tokens])

    def type_names(self) -> list[str]:
        """The type of each spelling, by its number; spellings that are alike in normal form share one."""
        normalize = text_normalizer(self.options.normalize, self.options.lowercase)
        return [normalize(spelling) for spelling in self.spellings]

    def counts(self) -> NDArray[np.int64]:
        """(spellings,) tokens of each."""
        total = np.zeros(len(self.spellings), dtype=np.int64)
        for numbers in self._numbers:
            total += np.bincount(numbers, minlength=len(total))
        return total

    def finish(
        self, types: NDArray[np.int32], codes: Tensor, num_values: tuple[int, ...], num_known: int, new_types: list[str]
    ) -> EncodedSentences:
        """The sentences, where types (spellings,) says the type of each spelling."""
        ids = types[np.concatenate([*self._numbers, np.empty(0, dtype=np.int32)])]
        offsets = np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
        corpus = TypeCorpus(torch.from_numpy(ids), torch.from_numpy(offsets), codes, num_values)
        classes = class_order(self.tags or ())
        gold: Tensor | None = None
        if self.tags is not None and self._tag_numbers:
            rank = {tag: place for place, tag in enumerate(classes)}
            places = np.array([rank[tag] for tag in self.tags], dtype=np.int64)
            gold = torch.from_numpy(places[np.concatenate(self._tag_numbers)])
        tokens = self.tokens if self.keep_tokens else None
        return EncodedSentences(corpus, num_known, new_types, self.ids, self.lines, gold, classes, tokens)


def _numbered(strings: Sequence[str], known: dict[str, int]) -> NDArray[np.int32]:
    """The number of each string, by first appearance; `known` grows."""
    number = known.setdefault
    return np.fromiter((number(string, len(known)) for string in strings), dtype=np.int32, count=len(strings))
