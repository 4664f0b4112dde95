"""Word vectors from text files of word2vec, GloVe and fastText: a line a word, its numbers behind it.

A first line of two whole numbers (words, dimensions) is a header, which GloVe leaves out. A word may hold blanks: the
last numbers of a line, as many as the vectors have, are its vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpuclf.data.paths import as_written, require_file
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder
from gpuclf.faults import UserFault


@dataclass(frozen=True)
class WordVectors:
    """vectors (words, E) float32 of the words asked for, NaN for those that the file has not; what else was met."""

    vectors: NDArray[np.float32]
    lines: int  # vectors in the file
    duplicates: int  # further lines of a word asked for, which are not read: the first one counts

    @property
    def found(self) -> int:
        """Words asked for that the file has."""
        return int((~np.isnan(self.vectors[:, 0])).sum()) if self.vectors.size else 0


def read_word_vectors(path: Path, words: Sequence[str], key: str) -> WordVectors:
    """The vectors of `words`. UserFault, with file and line, for lines of another length and what is no number."""
    require_file(path, key=key)
    place = {word: number for number, word in enumerate(words)}
    found: dict[int, NDArray[np.float32]] = {}
    dimensions, lines, duplicates, promised = 0, 0, 0, 0
    name = as_written(path)
    with Source(path) as source:
        decoder = LineDecoder(source.blocks(), "utf-8", name)
        for batch in decoder.batches():
            first = decoder.lines - len(batch) + 1
            for offset, line in enumerate(batch):
                parts = line.rstrip(" ").split(" ")
                if first + offset == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
                    promised = dimensions = int(parts[1])
                    continue
                if not line.strip(" "):
                    continue
                dimensions = dimensions or len(parts) - 1
                if len(parts) <= dimensions or not dimensions or _all_numbers(parts[1 : len(parts) - dimensions]):
                    raise _other_length(name, first + offset, len(parts) - 1, dimensions, bool(promised))
                lines += 1
                number = place.get(" ".join(parts[: len(parts) - dimensions]))
                if number is None:
                    continue
                if number in found:
                    duplicates += 1
                    continue
                found[number] = _numbers(name, first + offset, parts[len(parts) - dimensions :])
    if not lines:
        raise UserFault("holds no vector", file=name, key=key)
    vectors = np.full((len(words), dimensions), np.nan, dtype=np.float32)
    for number, vector in found.items():
        vectors[number] = vector
    return WordVectors(vectors, lines, duplicates)


def _other_length(file: str, line: int, numbers: int, dimensions: int, header: bool) -> UserFault:
    said = "the header says" if header else "the first line has"
    return UserFault(f"has {numbers} numbers, {said} {dimensions}", file=file, line=line)


def _all_numbers(parts: Sequence[str]) -> bool:
    """Whether these pieces of a word are numbers, which then belong to a vector that is too long."""
    try:
        return bool(parts) and bool([float(part) for part in parts])
    except ValueError:
        return False


def _numbers(file: str, line: int, parts: Sequence[str]) -> NDArray[np.float32]:
    try:
        vector = np.array([float(part) for part in parts], dtype=np.float32)
    except ValueError as error:
        raise UserFault(f"is no vector: {error}", file=file, line=line) from error
    if not np.isfinite(vector).all():
        raise UserFault("holds a number that is infinite or none", file=file, line=line)
    return vector
