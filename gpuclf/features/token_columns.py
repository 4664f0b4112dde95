"""Further columns of words, such as parts of speech, as features of tokens: their values in a window, and in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuclf.features.token_windows import OUTSIDE, Numbered, Pairs, codes_of, pairs_seen, place_name, shifted


@dataclass(frozen=True)
class TokenColumn:
    """values: of the training sentences, in order of code point; reach: places to each side; pairs: neighbours."""

    name: str
    values: list[str]
    reach: int
    pairs: Pairs

    @property
    def num_features(self) -> int:
        return (2 * self.reach + 1) * (len(self.values) + len(OUTSIDE)) + len(self.pairs)

    def names(self) -> list[str]:
        """The features by name: pos[-1]=DT, pos[-1,0]=DT NN."""
        return [
            f"{self.name}{place_name(offset)}={value}"
            for offset in range(-self.reach, self.reach + 1)
            for value in (*OUTSIDE, *self.values)
        ] + self.pairs.names(self.name, self.values)

    def columns(self, given: Numbered, starts: NDArray[np.int64], first: int) -> list[NDArray[np.int64]]:
        """The columns (tokens,) of each block, the first being `first`; 0 where a value is new."""
        codes, types = codes_of(self.values, given.numbers), given.types()
        width = len(self.values) + len(OUTSIDE)
        places = range(2 * self.reach + 1)
        found = [shifted(codes, types, starts, place - self.reach, first + place * width) for place in places]
        return found + self.pairs.columns(codes, types, starts, first + len(places) * width)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "values": self.values, "pairs": [list(pair) for pair in self.pairs.pairs]}

    @classmethod
    def from_json(cls, data: dict[str, Any], reach: int) -> TokenColumn:
        values: Sequence[str] = data["values"]
        pairs = [(int(a), int(b)) for a, b in data["pairs"]]
        return cls(data["name"], list(values), reach, Pairs(pairs, len(values)))


def fit_column(name: str, given: Numbered, starts: NDArray[np.int64], reach: int, with_pairs: bool) -> TokenColumn:
    """The column of what the training sentences hold."""
    values = sorted(given.numbers)
    codes = codes_of(values, given.numbers)
    seen = pairs_seen(codes, given.types(), starts, len(values)) if with_pairs else []
    return TokenColumn(name, values, reach, Pairs(seen, len(values)))
