"""What every reader gives, whatever the format: chunks of documents, and a report of what was read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class IndexedFeatures:
    """Sparse rows with integer feature ids as they stand in the file (svmlight); nothing is renumbered here.

    indptr (docs+1,) int64, indices (nnz,) int64, strictly rising within a row, values (nnz,) float32, finite, no zeros.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class NamedFeatures:
    """Sparse rows with feature names (VW, tables); names may repeat within a row, values are finite float32, no zeros.

    A table's categorical column `color` with value `red` is the feature `color=red` of value 1; its numeric column `f1`
    is the feature `f1`.
    """

    indptr: NDArray[np.int64]
    names: list[str]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Sentences:
    """Documents as tokens: sentence s is tokens[offsets[s]:offsets[s + 1]].

    offsets (docs+1,) int64; a token is never blank, but may hold blanks; gold, where asked for, has one tag a token,
    and so has each of the further columns `inputs`, by name.
    """

    offsets: NDArray[np.int64]
    tokens: list[str]
    gold: list[str] | None = None
    inputs: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Contexts:
    """Documents as contexts of an ambiguous word: context c is tokens[offsets[c]:offsets[c + 1]].

    offsets (docs+1,) int64; tags has a part of speech a token, "" for none; heads (docs,) int64: the place of the
    ambiguous word within its context. words (docs,): which word it is, such as art.n, where the file says so of every
    context of the chunk.
    """

    offsets: NDArray[np.int64]
    tokens: list[str]
    tags: list[str]
    heads: NDArray[np.int64]
    words: list[str] | None = None


@dataclass(frozen=True)
class Reviews:
    """Documents as sentences of reviews: review r has the sentences starts[r] to starts[r + 1], one document each.

    starts (reviews+1,) int64; ids, businesses: by review, None for a business that is not named; texts: the sentences,
    as they stand in the file; begins (sentences,) int64: where each begins in its review, for a review given as one
    text, else -1. spans: of each sentence (start, end, aspect), in characters (code points), rising and disjoint; None
    where they are not asked for.
    """

    starts: NDArray[np.int64]
    ids: list[str]
    businesses: list[str | None]
    texts: list[str]
    begins: NDArray[np.int64]
    spans: list[list[tuple[int, int, str]]] | None = None


@dataclass(frozen=True)
class Chunk:
    """Consecutive documents of one file. Exactly one of texts, indexed, named, sentences, contexts, reviews is given.

    `labels` is None for files read for prediction and for sentences; a label is never empty and never retyped.
    `lines` is the 1-based line where each record starts; `ids` are the id column, or the record number ("1", "2", …).
    `columns` is given by a table, beside `named`: its categorical inputs by column name, each a list of strings as long
    as the chunk.
    `weights` says how often each document counts, finite and ≥ 0, where the config asks for weights of this file.
    A document with several labels that is repeated has the ids `7`, `7#2`, … and, without a group column, group `7`.
    The sentences of review `7` have the ids `7:1`, `7:2`, … and, without a group column, group `7`.
    """

    ids: list[str]
    lines: list[int]
    labels: list[str] | None
    texts: list[str] | None = None
    indexed: IndexedFeatures | None = None
    named: NamedFeatures | None = None
    columns: dict[str, list[str]] | None = None
    groups: list[str] | None = None
    weights: list[float] | None = None
    sentences: Sentences | None = None
    contexts: Contexts | None = None
    reviews: Reviews | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass
class ReadReport:
    """What one file held. Complete when the reader's chunks are exhausted."""

    path: Path
    format: str
    records: int = 0  # taken; a document repeated for several labels is one record
    lines: int = 0  # physical lines, header and blank lines included (Parquet: rows)
    skipped: int = 0  # records left out on the user's request
    empty_documents: int = 0
    tokens: int = 0  # of the sentences taken; 0 for formats that do not say what a token is
    per_class: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    sha256: str = ""  # of the file as it lies on disk
    notes: list[str] = field(
        default_factory=list
    )  # what a user should know, e.g. the svmlight index base that was found
    index_base: int | None = None  # svmlight: the first index, given or found in this file
    companions: dict[str, str] = field(default_factory=dict)  # sha256 by path of files read beside it (parallel labels)


class Reader(Protocol):
    """Reads one file once, in order, in bounded memory."""

    report: ReadReport

    def chunks(self) -> Iterator[Chunk]: ...
