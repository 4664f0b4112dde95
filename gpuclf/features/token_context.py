"""Tokens of sentences → sparse rows: the token's own spelling and that of its neighbours, for learners of sequences.

Every template (word, lower, shape, prefix1 …) has its values in order of code point, and one block of columns for each
place of the window; a row has at most one column of a block. A place before or after the sentence is a value, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.options import SpellingOptions
from gpuclf.features.rows import SequenceRows
from gpuclf.features.token_columns import TokenColumn, fit_column
from gpuclf.features.token_windows import OUTSIDE, Numbered, Pairs, codes_of, pairs_seen, place_name, shifted
from gpuclf.features.tokenizer import text_normalizer
from gpuclf.features.word_features import word_shape

FORMAT = 1
_TYPE = "token_context"

Template = Callable[[str], str]


class TokenContext:
    """values: by template its values, in order; pairs: the neighbours seen in training, as codes of `lower`, rising;
    inputs: further columns of the data."""

    source = "sentences"
    collision_rate = None

    def __init__(
        self,
        options: SpellingOptions,
        values: dict[str, list[str]],
        pairs: list[tuple[int, int]],
        inputs: Sequence[TokenColumn] = (),
    ):
        self.options, self.values, self.inputs = options, values, tuple(inputs)
        self.pairs = Pairs(pairs, len(values["lower"]))
        self._templates = _templates(options)
        self._blocks = _blocks(options)
        assert list(values) == list(self._templates), "templates are those of the options"
        firsts = np.cumsum([1, *(len(values[name]) + len(OUTSIDE) for name, _ in self._blocks)])
        self._starts, self._pair_start = firsts[:-1], int(firsts[-1])
        self._normalize = text_normalizer(options.normalize, lowercase=False)
        self._words = frozenset(values["word"])

    @property
    def num_features(self) -> int:
        return self._pair_start - 1 + len(self.pairs) + sum(column.num_features for column in self.inputs)

    @cached_property
    def names(self) -> list[str]:
        """The features by name: word[-1]=the, shape[0]=Xxxx, pair[-1,0]=the dog, and of a further column pos[0]=NN."""
        names = []
        for name, offset in self._blocks:
            names += [f"{name}{place_name(offset)}={value}" for value in (*OUTSIDE, *self.values[name])]
        names += self.pairs.names("pair", self.values["lower"])
        return names + [name for column in self.inputs for name in column.names()]

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """The tokens of sentences, a row each; values that are new leave no column."""
        tally = _Tally(self._normalize, {column.name: Numbered() for column in self.inputs})
        for chunk in chunks:
            tally.add(chunk)
        return self.encoded(tally)

    def encoded(self, tally: _Tally) -> Encoded:
        """Rows of the tokens that were gathered."""
        types, starts = tally.words.types(), tally.starts()
        by_type = {name: self._type_codes(name, tally.words.numbers) for name in self.values}
        columns = [
            shifted(by_type[name], types, starts, offset, start)
            for (name, offset), start in zip(self._blocks, self._starts, strict=True)
        ]
        if self.options.pairs:
            columns += self.pairs.columns(by_type["lower"], types, starts, self._pair_start)
        first = self._pair_start + len(self.pairs)
        for column in self.inputs:
            columns += column.columns(tally.inputs[column.name], starts, first)
            first += column.num_features
        table = np.stack(columns, axis=1) if columns else np.zeros((types.size, 0), np.int64)
        known = table > 0
        crow = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
        col = table[known].astype(np.int32)
        rows = SequenceRows(
            crow=torch.from_numpy(crow),
            col=torch.from_numpy(col),
            val=torch.ones(col.size),
            num_features=self.num_features,
            starts=torch.from_numpy(starts),
        )
        unknown = (~known).sum(axis=1).astype(np.int64)
        return Encoded(
            rows=rows,
            labels=tally.labels,
            ids=[f"{name}:{place}" for name, size in zip(tally.ids, np.diff(starts), strict=True)
                 for place in range(1, size + 1)],
            groups=list(np.repeat(np.array(tally.groups, dtype=object), np.diff(starts))),
            lines=np.repeat(np.array(tally.lines, dtype=np.int64), np.diff(starts)).tolist(),
            unknown=unknown,
            known=np.asarray(known.any(axis=1)),
        )  # fmt: skip

    def knows(self, tokens: Iterable[str]) -> list[bool]:
        """Whether each token is a word of the training sentences."""
        return [self._normalize(token) in self._words for token in tokens]

    def _type_codes(self, name: str, types: Iterable[str]) -> NDArray[np.int64]:
        """The code of each word type under a template; -1 for a new value."""
        return codes_of(self.values[name], map(self._templates[name], types))

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json."""
        pairs = [list(pair) for pair in self.pairs.pairs]
        inputs = {"inputs": [column.to_json() for column in self.inputs]} if self.inputs else {}
        return {"format": FORMAT, "type": _TYPE, "values": self.values, "pairs": pairs} | inputs

    @classmethod
    def from_json(cls, data: dict[str, Any], options: SpellingOptions) -> TokenContext:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        inputs = [TokenColumn.from_json(column, options.input_window) for column in data.get("inputs", ())]
        return cls(options, data["values"], [(int(a), int(b)) for a, b in data["pairs"]], inputs)


def fit_token_context(chunks: Iterable[Chunk], options: SpellingOptions) -> tuple[TokenContext, Encoded]:
    """The encoder of all values that occur in the sentences, and their tokens as rows; reads them once."""
    tally = _Tally(text_normalizer(options.normalize, lowercase=False))
    for chunk in chunks:
        tally.add(chunk)
    if not tally.words.numbers:
        raise UserFault("there is no word to learn from", remedy="give a data file with sentences in it")
    values = {name: sorted(set(map(template, tally.words.numbers))) for name, template in _templates(options).items()}
    types, starts = tally.words.types(), tally.starts()
    pairs = []
    if options.pairs:
        lower = codes_of(values["lower"], map(_templates(options)["lower"], tally.words.numbers))
        pairs = pairs_seen(lower, types, starts, len(values["lower"]))
    inputs = []
    for name, given in tally.inputs.items():
        if name in (*values, "pair"):
            raise UserFault(
                f"{name} names features of the token itself", key="data.inputs", remedy="give the column another name"
            )
        inputs.append(fit_column(name, given, starts, options.input_window, options.input_pairs))
    encoder = TokenContext(options, values, pairs, inputs)
    return encoder, encoder.encoded(tally)


def _templates(options: SpellingOptions) -> dict[str, Template]:
    """What is read off a word, by name. Prefixes and suffixes are code points; a short word is its own."""
    lower = text_normalizer(options.normalize, lowercase=True)
    templates: dict[str, Template] = {"word": lambda word: word, "lower": lower, "shape": word_shape}
    templates |= {f"prefix{n}": _prefix(n) for n in range(1, options.prefixes + 1)}
    templates |= {f"suffix{n}": _suffix(n) for n in range(1, options.suffixes + 1)}
    if options.endings is not None:
        templates["ending"] = _suffix(3)
    return templates | (_SIGNS if options.signs is not None else {})


def _sign(holds: Callable[[str], bool]) -> Template:
    return lambda word: "yes" if holds(word) else "no"


_SIGNS: dict[str, Template] = {
    "all_capitals": _sign(str.isupper),
    "initial_capital": _sign(lambda word: word[:1].isupper() or word[:1].istitle()),
    "digit": _sign(lambda word: any(char.isdigit() for char in word)),
}


def _blocks(options: SpellingOptions) -> list[tuple[str, int]]:
    """Template and place of every block of columns, in their order."""
    reach = {"word": options.window, "lower": options.window, "shape": options.shapes}
    reach |= {"ending": options.endings or 0, **dict.fromkeys(_SIGNS, options.signs or 0)}
    return [
        (name, offset) for name in _templates(options) for offset in range(-reach.get(name, 0), reach.get(name, 0) + 1)
    ]


def _prefix(length: int) -> Template:
    return lambda word: word[:length]


def _suffix(length: int) -> Template:
    return lambda word: word[-length:]


@dataclass
class _Tally:
    """The sentences read so far: tokens numbered by their spelling, and what goes with the sentences. inputs: further
    columns by name; None: those of the first chunk."""

    normalize: Callable[[str], str]
    given: dict[str, Numbered] | None = None
    words: Numbered = field(default_factory=Numbered)
    labels: list[str] | None = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)  # a sentence's own id where the file names no group
    lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, dtype=np.int64)]

    def add(self, chunk: Chunk) -> None:
        """The sentences of one chunk."""
        if chunk.sentences is None:
            raise UserFault(
                "token_context needs sentences whose tokens are given, and the data holds none",
                key="features.type",
                remedy="use data.format conllu, conll or sentences",
            )
        self.ids += chunk.ids
        self.groups += chunk.ids if chunk.groups is None else chunk.groups
        self.lines += chunk.lines
        self._lengths.append(np.diff(chunk.sentences.offsets))
        self.words.add([self.normalize(token) for token in chunk.sentences.tokens])
        held = chunk.sentences.inputs
        if self.given is None:
            self.given = {name: Numbered() for name in held}
        for name, column in self.given.items():
            if name not in held:
                raise UserFault(
                    f"the model reads a column {name!r}, and this text has none",
                    remedy="give a file with the columns of the training data (--input-format conll or conllu)",
                )
            column.add(held[name])
        gold = chunk.sentences.gold
        if gold is None or self.labels is None:
            self.labels = None
        else:
            self.labels += gold

    @property
    def inputs(self) -> dict[str, Numbered]:
        return self.given or {}

    def starts(self) -> NDArray[np.int64]:
        """(sentences + 1,) where each sentence begins among the tokens."""
        return np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
