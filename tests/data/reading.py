"""Reads files in one call, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.records import Chunk, ReadReport
from gpuclf.faults import UserFault, UserFaults


@dataclass
class Read:
    """Everything that one file gave, its chunks joined."""

    chunks: list[Chunk]
    report: ReadReport

    def all(self, field: str) -> list[Any]:
        """A list field over all chunks."""
        return [item for chunk in self.chunks for item in getattr(chunk, field)]

    @property
    def labels(self) -> list[str]:
        return self.all("labels")

    @property
    def texts(self) -> list[str]:
        return self.all("texts")

    @property
    def rows(self) -> list[list[tuple[Any, float]]]:
        """(index or name, value) by document."""
        found = []
        for chunk in self.chunks:
            features = chunk.indexed if chunk.indexed is not None else chunk.named
            assert features is not None
            names = chunk.indexed.indices.tolist() if chunk.indexed is not None else features.names
            entries = list(zip(names, features.values.tolist(), strict=True))
            found += [entries[a:b] for a, b in zip(features.indptr[:-1], features.indptr[1:], strict=True)]
        return found

    @property
    def sentences(self) -> list[list[str]]:
        """The tokens of each sentence."""
        return [tokens for chunk in self.chunks for tokens in _cut(chunk, chunk.sentences.tokens)]

    @property
    def gold(self) -> list[list[str]]:
        """The gold tags of each sentence."""
        return [tags for chunk in self.chunks for tags in _cut(chunk, chunk.sentences.gold)]

    def note(self, part: str) -> str:
        """The one note that holds `part`."""
        found = [note for note in self.report.notes if part in note]
        assert len(found) == 1, (part, self.report.notes)
        return found[0]


def _cut(chunk: Chunk, flat: list[str]) -> list[list[str]]:
    return [flat[a:b] for a, b in pairwise(chunk.sentences.offsets)]


def write(path: Path, content: str | bytes) -> Path:
    """Writes text as UTF-8, line ends as they stand."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(
    path: Path, *, labelled: bool = True, found_base: int | None = None, chunk_docs: int = 4096, **options
) -> Read:
    """Reads `path` as training file under DataOptions(**options); `found_base` is open_reader's index_base."""
    settings = DataOptions(train=path, **options)
    reader = open_reader(path, settings, labelled=labelled, index_base=found_base, chunk_docs=chunk_docs)
    return Read(list(reader.chunks()), reader.report)


def refusal(path: Path, **arguments) -> UserFault:
    """The fault that reading `path` ends with."""
    with pytest.raises(UserFault) as caught:
        read(path, **arguments)
    return caught.value


def doubtful_lines(fault: UserFault) -> list[int]:
    """The lines that a fault names."""
    faults = fault.faults if isinstance(fault, UserFaults) else (fault,)
    return [one.line for one in faults if one.line is not None]
