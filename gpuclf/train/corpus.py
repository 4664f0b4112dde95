"""Reading and encoding once: from files to one copy of the rows that all models of a run share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.data.aspects import NONE
from gpuclf.data.class_order import class_order
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.records import Chunk, Reader
from gpuclf.data.splits import document_keys
from gpuclf.data.word_vectors import read_word_vectors
from gpuclf.faults import UserFault
from gpuclf.features.encoded import DocumentEncoder, Encoded
from gpuclf.features.encoders import fit
from gpuclf.features.options import FeatureOptions, TokenIdsOptions, WordTypesOptions
from gpuclf.features.review_context import ReviewContext
from gpuclf.features.rows import ReviewRows, Rows, concatenate
from gpuclf.train.observer import Observer
from gpuclf.train.stopwatch import Stopwatch


@dataclass(frozen=True)
class Corpus:
    """The training documents (and those of a validation file, if any), encoded.

    labels (docs,) int64 index `classes`, then `extra_classes`: classes that only held-out documents have.
    The first `num_train_docs` documents come from the training file. keys (docs,) int64 are hashes of the ids.
    """

    encoder: DocumentEncoder
    rows: Rows
    labels: NDArray[np.int64]
    keys: NDArray[np.int64]
    ids: list[str]
    groups: list[str] | None
    classes: tuple[str, ...]
    extra_classes: tuple[str, ...]
    num_train_docs: int
    index_base: int | None
    sha256: dict[str, str]  # of the files read, by role
    weights: NDArray[np.float64] | None = None  # (docs,): how often each counts in training, None for once
    vectors: Tensor | None = None  # (V+1, E) float32: features.vectors by column, NaN where a word has none

    @property
    def num_docs(self) -> int:
        return len(self.ids)

    @property
    def outside(self) -> int | None:
        """The class of tokens of no aspect, -1 where every token has one; None where documents are no such tokens."""
        return outside_class(self.classes) if isinstance(self.rows, ReviewRows) else None


def read_corpus(
    data: DataOptions,
    features: FeatureOptions,
    validation_file: Path | None,
    observer: Observer,
    watch: Stopwatch,
) -> Corpus:
    """Reads the training file once, learns the features from it, and encodes it and the validation file.

    Raises UserFault where a file holds no document or a single class.
    """
    assert not isinstance(features, WordTypesOptions), "word types are no rows: taggers read their sentences elsewhere"
    reader = open_reader(data.train, data)
    digests: dict[str, str] = {}
    with watch.timed("features"):
        unlabelled = _unlabelled(data, digests, observer, watch)
        encoder, train = fit(documents(reader, "train", observer, watch), features, unlabelled)
    train_labels = _required_labels(train, data.train)
    classes = class_order(train_labels)
    if len(classes) < 2:
        raise UserFault(
            f"holds {len(train_labels)} documents of {len(classes)} class(es) ({', '.join(classes)})",
            file=data.train,
            remedy="a classifier needs documents of two classes at least",
        )
    corpus = Corpus(
        encoder=encoder,
        rows=train.rows,
        labels=label_indices(train_labels, classes),
        keys=document_keys(train.ids),
        ids=train.ids,
        groups=train.groups,
        classes=classes,
        extra_classes=(),
        num_train_docs=len(train.ids),
        index_base=reader.report.index_base,
        sha256={"train": reader.report.sha256, **digests},
        weights=_row_weights(train, data, observer),
        vectors=_word_vectors(encoder, features, observer),
    )
    return corpus if validation_file is None else _with_validation(corpus, data, validation_file, observer, watch)


def _unlabelled(data: DataOptions, digests: dict[str, str], observer: Observer, watch: Stopwatch) -> Iterator[Chunk]:
    """The documents of the files without labels, one file after the other; `digests` gets their sha256 by role."""
    for place, file in enumerate(data.unlabelled):
        role = f"unlabelled {place + 1}"
        reader = open_reader(file, data, labelled=False)
        yield from documents(reader, role, observer, watch)
        digests[role] = reader.report.sha256


def content_words(corpus: Corpus) -> Sequence[str]:
    """The words that a model of topics reads, where the documents are reviews."""
    return corpus.encoder.words if isinstance(corpus.encoder, ReviewContext) else ()


def _word_vectors(encoder: DocumentEncoder, features: FeatureOptions, observer: Observer) -> Tensor | None:
    """(V+1, E) float32: the vectors of features.vectors by column, NaN for words without; says how many words have."""
    path = features.vectors if isinstance(features, TokenIdsOptions) else None
    if path is None:
        return None
    words = encoder.names
    given = read_word_vectors(path, words, "features.vectors")
    share = 100 * given.found / len(words)
    observer.note(
        f"{path}: {given.lines:,} vectors of {given.vectors.shape[1]} numbers; {given.found:,} of {len(words):,} words "
        f"({share:.1f} %) have one" + (f"; {given.duplicates:,} given twice" if given.duplicates else "")
    )
    if not given.found:
        raise UserFault("has no vector of any word of the data", file=path, key="features.vectors")
    none = torch.full((1, given.vectors.shape[1]), torch.nan)
    return torch.cat([none, torch.from_numpy(given.vectors)])


def _row_weights(train: Encoded, data: DataOptions, observer: Observer) -> NDArray[np.float64] | None:
    """What data.weight says of the training documents. Raises UserFault where no document counts."""
    if data.weight is None:
        return None
    if train.weights is None:
        raise UserFault("this format has no weights", file=data.train, key="data.weight", remedy="remove it")
    weights = np.array(train.weights)
    if not weights.any():
        raise UserFault("all documents have the weight 0", file=data.train, key="data.weight")
    observer.note(
        f"{data.train}: documents count {weights.min():g} to {weights.max():g} times, {weights.sum():g} in all; "
        "features are counted, and figures taken, by documents"
    )
    return weights


def _with_validation(corpus: Corpus, data: DataOptions, file: Path, observer: Observer, watch: Stopwatch) -> Corpus:
    reader = open_reader(file, data, index_base=corpus.index_base)
    with watch.timed("features"):
        held_out = corpus.encoder.encode(documents(reader, "validation", observer, watch))
    labels = _required_labels(held_out, file)
    extra = unknown_classes(labels, corpus.classes)
    if extra:
        observer.note(f"{file}: classes that the training file does not have: {', '.join(extra)}")
    indices = label_indices(labels, corpus.classes + extra)
    return replace(
        corpus,
        rows=concatenate(corpus.rows, held_out.rows),
        labels=np.concatenate([corpus.labels, indices]),
        keys=np.concatenate([corpus.keys, document_keys([f"validation {name}" for name in held_out.ids])]),
        ids=corpus.ids + held_out.ids,
        weights=None if corpus.weights is None else np.concatenate([corpus.weights, np.ones(len(labels))]),
        groups=None if corpus.groups is None else corpus.groups + (held_out.groups or [""] * len(labels)),
        extra_classes=extra,
        sha256=corpus.sha256 | {"validation": reader.report.sha256},
    )


def documents(reader: Reader, role: str, observer: Observer, watch: Stopwatch) -> Iterator[Chunk]:
    """The reader's chunks; the observer gets the report when the file is read to its end. An empty file is a fault."""
    yield from watch.timed_items("read", reader.chunks())
    if not reader.report.records:
        raise UserFault("holds no document", file=reader.report.path)
    observer.read(role, reader.report)


def _required_labels(encoded: Encoded, file: Path) -> list[str]:
    if encoded.labels is None:
        raise UserFault("has no labels", file=file)
    return encoded.labels


def outside_class(classes: Sequence[str]) -> int:
    """The number of the class of tokens of no aspect; -1 where there is none."""
    return classes.index(NONE) if NONE in classes else -1


def unknown_classes(labels: Iterable[str], classes: Sequence[str]) -> tuple[str, ...]:
    """The labels that are not in `classes`, in class order."""
    return class_order(set(labels) - set(classes))


def label_indices(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Positions of the labels in `classes`."""
    position = {name: index for index, name in enumerate(classes)}
    return np.fromiter((position[label] for label in labels), dtype=np.int64, count=len(labels))


def as_tensor(array: NDArray[np.int64], device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
