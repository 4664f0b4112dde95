"""Columns of features that tokens get from a window of their sentence, by codes of values: code 0 stands for a place
before the sentence, 1 for one after it, values follow from 2, and -1 is a value that is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

OUTSIDE = ("<before>", "<after>")
PAIRS = {"[-1,0]": -1, "[0,+1]": 0}  # neighbours: where the first of both stands


@dataclass
class Numbered:
    """Values of tokens, numbered by first appearance."""

    numbers: dict[str, int] = field(default_factory=dict)
    _parts: list[NDArray[np.int64]] = field(default_factory=lambda: [np.zeros(0, dtype=np.int64)])

    def add(self, values: Sequence[str]) -> None:
        """Those of further tokens."""
        number = self.numbers.setdefault
        found = (number(value, len(self.numbers)) for value in values)
        self._parts.append(np.fromiter(found, dtype=np.int64, count=len(values)))

    def types(self) -> NDArray[np.int64]:
        """(tokens,) the number of each token's value."""
        return np.concatenate(self._parts)


def place_name(offset: int) -> str:
    """How a place of the window is written in names of features."""
    return f"[{offset:+d}]" if offset else "[0]"


def shifted(
    codes: NDArray[np.int64], types: NDArray[np.int64], starts: NDArray[np.int64], offset: int, first: int
) -> NDArray[np.int64]:
    """first + code of the token `offset` places on, of each token; 0 where its value is new (code -1). With first 0 a
    new value is -1."""
    place = np.arange(types.size) + offset
    lengths = np.diff(starts)
    begin, end = np.repeat(starts[:-1], lengths), np.repeat(starts[1:], lengths)
    found = codes[types[np.clip(place, 0, max(types.size - 1, 0))]]
    found = np.where(place < begin, 0, np.where(place >= end, 1, found))
    return np.where(found < 0, 0 if first else -1, first + found)


class Pairs:
    """Neighbours seen in training, as codes of their values, rising; a block of columns for each place of PAIRS."""

    def __init__(self, pairs: Sequence[tuple[int, int]], values: int):
        """values: how many the codes stand for."""
        self.pairs = list(pairs)
        self._width = values + len(OUTSIDE)
        self._keys = np.array([a * self._width + b for a, b in pairs], dtype=np.int64)

    def __len__(self) -> int:
        return len(self.pairs) * len(PAIRS)

    def names(self, name: str, values: Sequence[str]) -> list[str]:
        """The features by name: pair[-1,0]=the dog."""
        shown = [*OUTSIDE, *values]
        return [f"{name}{place}={shown[a]} {shown[b]}" for place in PAIRS for a, b in self.pairs]

    def columns(
        self, codes: NDArray[np.int64], types: NDArray[np.int64], starts: NDArray[np.int64], first: int
    ) -> list[NDArray[np.int64]]:
        """The column of each token's pair at each place, the first being `first`; 0 for one that is new, or reaches
        over the sentence's ends."""
        found = []
        for number, place in enumerate(PAIRS.values()):
            left, right = (shifted(codes, types, starts, place + step, 0) for step in (0, 1))
            inside = (left >= 2) & (right >= 2)
            keys = np.where(inside, left * self._width + right, -1)
            at = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
            hit = inside & (self._keys[at] == keys) if len(self._keys) else np.zeros(keys.size, dtype=bool)
            found.append(np.where(hit, first + number * len(self.pairs) + at, 0))
        return found


def pairs_seen(
    codes: NDArray[np.int64], types: NDArray[np.int64], starts: NDArray[np.int64], values: int
) -> list[tuple[int, int]]:
    """The neighbours within sentences, as codes."""
    first, second = (shifted(codes, types, starts, offset, 0) for offset in (0, 1))
    width = values + len(OUTSIDE)
    keys = np.unique(first[second >= 2] * width + second[second >= 2])
    return list(zip((keys // width).tolist(), (keys % width).tolist(), strict=True))


def codes_of(known: Sequence[str], values: Iterable[str]) -> NDArray[np.int64]:
    """The code of each value by its place among the known ones; -1 for a new one."""
    code = {value: place for place, value in enumerate(known, start=len(OUTSIDE))}.get
    return np.array([code(value, -1) for value in values], dtype=np.int64)
