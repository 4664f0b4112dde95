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
from gpuclf.features.tokenizer import text_normalizer
from gpuclf.features.word_features import word_shape

FORMAT = 1
_TYPE = "token_context"
_OUTSIDE = ("<before>", "<after>")  # codes 0 and 1 of every template; its values follow
_PAIRS = {"pair[-1,0]": -1, "pair[0,+1]": 0}  # neighbours, lower-case: where the first of both stands

Template = Callable[[str], str]


class TokenContext:
    """values: by template its values, in order; pairs: the neighbours seen in training, as codes of `lower`, rising."""

    source = "sentences"
    collision_rate = None

    def __init__(self, options: SpellingOptions, values: dict[str, list[str]], pairs: list[tuple[int, int]]):
        self.options, self.values, self.pairs = options, values, pairs
        self._templates = _templates(options)
        self._blocks = _blocks(options)
        assert list(values) == list(self._templates), "templates are those of the options"
        self._codes = {name: {v: code for code, v in enumerate(known, start=2)} for name, known in values.items()}
        firsts = np.cumsum([1, *(len(values[name]) + 2 for name, _ in self._blocks)])
        self._starts, self._pair_start = firsts[:-1], int(firsts[-1])
        self._normalize = text_normalizer(options.normalize, lowercase=False)
        width = len(values["lower"]) + 2
        self._pair_keys = np.array([a * width + b for a, b in pairs], dtype=np.int64)

    @property
    def num_features(self) -> int:
        return self._pair_start - 1 + len(self.pairs) * len(_PAIRS)

    @cached_property
    def names(self) -> list[str]:
        """The features by name: word[-1]=the, shape[0]=Xxxx, pair[-1,0]=the dog."""
        names = []
        for name, offset in self._blocks:
            place = f"[{offset:+d}]" if offset else "[0]"
            names += [f"{name}{place}={value}" for value in (*_OUTSIDE, *self.values[name])]
        lower = [*_OUTSIDE, *self.values["lower"]]
        return names + [f"{block}={lower[a]} {lower[b]}" for block in _PAIRS for a, b in self.pairs]

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """The tokens of sentences, a row each; values that are new leave no column."""
        tally = _Tally(self._normalize)
        for chunk in chunks:
            tally.add(chunk)
        return self.encoded(tally)

    def encoded(self, tally: _Tally) -> Encoded:
        """Rows of the tokens that were gathered."""
        types, starts = tally.types(), tally.starts()
        by_type = {name: self._type_codes(name, tally.spellings) for name in self.values}
        columns = [
            _shifted(by_type[name], types, starts, offset, start)
            for (name, offset), start in zip(self._blocks, self._starts, strict=True)
        ]
        if self.options.pairs:
            lower = by_type["lower"]
            columns += [
                self._pair_columns(lower, types, starts, place, number) for number, place in enumerate(_PAIRS.values())
            ]
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
        return [self._normalize(token) in self._codes["word"] for token in tokens]

    def _type_codes(self, name: str, types: Iterable[str]) -> NDArray[np.int64]:
        """The code of each word type under a template; -1 for a new value."""
        code, template = self._codes[name].get, self._templates[name]
        return np.array([code(template(word), -1) for word in types], dtype=np.int64)

    def _pair_columns(
        self, lower: NDArray[np.int64], types: NDArray[np.int64], starts: NDArray[np.int64], place: int, number: int
    ) -> NDArray[np.int64]:
        """The column of each token's pair; 0 for one that is new, or reaches over the sentence's ends."""
        first, second = (_shifted(lower, types, starts, place + step, 0) for step in (0, 1))
        inside = (first >= 2) & (second >= 2)
        keys = np.where(inside, first * (len(self.values["lower"]) + 2) + second, -1)
        found = np.searchsorted(self._pair_keys, keys)
        found = np.minimum(found, max(len(self._pair_keys) - 1, 0))
        hit = inside & (self._pair_keys[found] == keys) if len(self._pair_keys) else np.zeros(keys.size, dtype=bool)
        return np.where(hit, self._pair_start + number * len(self.pairs) + found, 0)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json."""
        return {"format": FORMAT, "type": _TYPE, "values": self.values, "pairs": [list(pair) for pair in self.pairs]}

    @classmethod
    def from_json(cls, data: dict[str, Any], options: SpellingOptions) -> TokenContext:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        return cls(options, data["values"], [(int(a), int(b)) for a, b in data["pairs"]])


def fit_token_context(chunks: Iterable[Chunk], options: SpellingOptions) -> tuple[TokenContext, Encoded]:
    """The encoder of all values that occur in the sentences, and their tokens as rows; reads them once."""
    tally = _Tally(text_normalizer(options.normalize, lowercase=False))
    for chunk in chunks:
        tally.add(chunk)
    if not tally.spellings:
        raise UserFault("there is no word to learn from", remedy="give a data file with sentences in it")
    values = {name: sorted(set(map(template, tally.spellings))) for name, template in _templates(options).items()}
    encoder = TokenContext(options, values, [])
    if options.pairs:
        encoder = TokenContext(options, values, _pairs_seen(encoder, tally))
    return encoder, encoder.encoded(tally)


def _pairs_seen(encoder: TokenContext, tally: _Tally) -> list[tuple[int, int]]:
    """The neighbours within sentences, as codes of their lower-case forms."""
    lower, types, starts = encoder._type_codes("lower", tally.spellings), tally.types(), tally.starts()
    first, second = (_shifted(lower, types, starts, offset, 0) for offset in (0, 1))
    width = len(encoder.values["lower"]) + 2
    keys = np.unique(first[second >= 2] * width + second[second >= 2])
    return list(zip((keys // width).tolist(), (keys % width).tolist(), strict=True))


def _shifted(
    codes: NDArray[np.int64], types: NDArray[np.int64], starts: NDArray[np.int64], offset: int, first: int
) -> NDArray[np.int64]:
    """first + code of the token `offset` places on, of each token; 0 where its value is new (code -1)."""
    place = np.arange(types.size) + offset
    lengths = np.diff(starts)
    begin, end = np.repeat(starts[:-1], lengths), np.repeat(starts[1:], lengths)
    found = codes[types[np.clip(place, 0, max(types.size - 1, 0))]]
    found = np.where(place < begin, 0, np.where(place >= end, 1, found))
    return np.where(found < 0, 0 if first else -1, first + found)


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
    """The sentences read so far: tokens numbered by their spelling, and what goes with the sentences."""

    normalize: Callable[[str], str]
    spellings: dict[str, int] = field(default_factory=dict)
    labels: list[str] | None = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)  # a sentence's own id where the file names no group
    lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._numbers: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
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
        number = self.spellings.setdefault
        words: Sequence[str] = [self.normalize(token) for token in chunk.sentences.tokens]
        self._numbers.append(
            np.fromiter((number(word, len(self.spellings)) for word in words), dtype=np.int64, count=len(words))
        )
        gold = chunk.sentences.gold
        if gold is None or self.labels is None:
            self.labels = None
        else:
            self.labels += gold

    def types(self) -> NDArray[np.int64]:
        """(tokens,) the number of each token's spelling."""
        return np.concatenate(self._numbers)

    def starts(self) -> NDArray[np.int64]:
        """(sentences + 1,) where each sentence begins among the tokens."""
        return np.cumsum(np.concatenate(self._lengths), dtype=np.int64)
