"""What every encoder gives, and what it keeps of documents beside their features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpuclf.data.records import Chunk
from gpuclf.features.rows import Rows

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Encoded:
    """A file's documents as rows, in file order, and what goes with each of them.

    unknown (docs,): feature occurrences that the encoder does not know; known (docs,): whether it knows any.
    labels is None where the file had none; weights where no column of weights was asked for.
    """

    rows: Rows
    labels: list[str] | None
    ids: list[str]
    groups: list[str] | None
    lines: list[int]
    unknown: NDArray[np.int64]
    known: NDArray[np.bool_]
    weights: list[float] | None = None
    texts: None = None


class DocumentEncoder(Protocol):
    """A fitted mapping from documents to rows; immutable, and the same after a trip through JSON.

    source: what documents must bring: texts, indexed, named or columns.
    """

    source: str

    @property
    def names(self) -> list[str]:
        """The features by name, or the inputs of a table of categories."""
        ...

    @property
    def collision_rate(self) -> float | None:
        """With hashing: the share of the distinct training names that share their bucket."""
        ...

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """Rows of documents under what was fitted."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json; `gpuclf.features.encoders.encoder_from_json` reads it."""
        ...


@dataclass
class Context:
    """Everything about the documents but their features, in file order."""

    ids: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    labels: list[str] | None = field(default_factory=list)
    groups: list[str] | None = field(default_factory=list)
    weights: list[float] | None = field(default_factory=list)

    def followed(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The chunks, noted as they pass."""
        for chunk in chunks:
            self.ids += chunk.ids
            self.lines += chunk.lines
            self.labels = _longer(self.labels, chunk.labels)
            self.groups = _longer(self.groups, chunk.groups)
            self.weights = _longer(self.weights, chunk.weights)
            yield chunk

    def encoded(self, rows: Rows, unknown: NDArray[np.int64], known: NDArray[np.bool_]) -> Encoded:
        """The documents seen, with their rows."""
        return Encoded(rows, self.labels, self.ids, self.groups, self.lines, unknown, known, self.weights)


def _longer(so_far: list[ItemT] | None, more: list[ItemT] | None) -> list[ItemT] | None:
    if so_far is None or more is None:
        return None
    so_far.extend(more)
    return so_far
