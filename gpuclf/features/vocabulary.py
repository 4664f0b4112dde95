"""Which features there are: names, numbered buckets of hashed names, or indices as given. Column = place + 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from gpuclf.features.blocks import Keys
from gpuclf.features.names import Names, bytes_tensor
from gpuclf.ops.find_spans import find_spans, name_slots
from gpuclf.ops.intern_spans import intern_spans
from gpuclf.ops.span_hash import span_hashes


class Vocabulary(Protocol):
    """Fitted features in column order."""

    def __len__(self) -> int: ...

    def columns(self, keys: Keys) -> Tensor:
        """The column (1..V) of each key, or -1 where it is unknown; int64."""
        ...

    def names(self) -> list[str]:
        """A name for every column, all distinct."""
        ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class NameVocabulary:
    """Names sorted by code point."""

    sorted_names: Names

    def __len__(self) -> int:
        return len(self.sorted_names)

    @cached_property
    def _slots(self) -> Tensor:
        return name_slots(self.sorted_names.data, self.sorted_names.ptr)

    def columns(self, keys: Keys) -> Tensor:
        assert isinstance(keys, Names), "names are looked up among names"
        known = self.sorted_names
        found = find_spans(known.data, known.ptr, self._slots, keys.data, keys.ptr[:-1], keys.ptr[1:])
        return torch.where(found >= 0, found + 1, -1)

    def names(self) -> list[str]:
        return self.sorted_names.to_strings()

    def to_json(self) -> dict[str, Any]:
        return {"kind": "names", "names": self.names()}


@dataclass(frozen=True)
class HashVocabulary:
    """Used buckets, rising; for people, the first name (by code point) that fell into each; and how names collided.

    A name's bucket is the top `bits` bits of its hash (gpuclf.ops.span_hash), the same on every machine. collision_rate
    is the share of the distinct training names that sit in a bucket with another one.
    """

    bits: int
    buckets: Tensor
    examples: Names
    collision_rate: float

    def __len__(self) -> int:
        return self.buckets.numel()

    def columns(self, keys: Keys) -> Tensor:
        assert isinstance(keys, Names), "names are looked up among buckets"
        return _places(self.buckets, name_buckets(keys, self.bits))

    def names(self) -> list[str]:
        pairs = zip(self.buckets.tolist(), self.examples.to_strings(), strict=True)
        return [f"#{bucket} {example}" for bucket, example in pairs]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "hashed",
            "bits": self.bits,
            "buckets": self.buckets.tolist(),
            "examples": self.examples.to_strings(),
            "collision_rate": self.collision_rate,
        }


@dataclass(frozen=True)
class IndexVocabulary:
    """Feature indices as they stand in the file, rising."""

    indices: Tensor

    def __len__(self) -> int:
        return self.indices.numel()

    def columns(self, keys: Keys) -> Tensor:
        assert isinstance(keys, Tensor), "indices are looked up among indices"
        return _places(self.indices, keys)

    def names(self) -> list[str]:
        return [str(index) for index in self.indices.tolist()]

    def to_json(self) -> dict[str, Any]:
        return {"kind": "indices", "indices": self.indices.tolist()}


def _places(rising: Tensor, wanted: Tensor) -> Tensor:
    if not rising.numel():
        return torch.full_like(wanted, -1)
    place = torch.searchsorted(rising, wanted).clamp(max=rising.numel() - 1)
    return torch.where(rising[place] == wanted, place + 1, -1)


def name_buckets(names: Names, bits: int) -> Tensor:
    """(names,) int64 in 0..2^bits-1."""
    hashed = span_hashes(names.data, names.ptr[:-1], names.ptr[1:])
    return (hashed >> (64 - bits)) & ((1 << bits) - 1)


def hash_names(sorted_names: Names, bits: int) -> HashVocabulary:
    """The buckets of names that are distinct and sorted."""
    bucket = name_buckets(sorted_names, bits)
    used, place, count = torch.unique(bucket, return_inverse=True, return_counts=True)
    first = torch.full_like(used, len(sorted_names))
    first = first.scatter_reduce(0, place, torch.arange(len(sorted_names)), "amin")
    crowded = int(count[count > 1].sum())
    return HashVocabulary(bits, used, sorted_names.take(first), crowded / max(1, len(sorted_names)))


def vocabulary_from_json(data: dict[str, Any]) -> Vocabulary:
    """The inverse of `to_json`."""
    if data["kind"] == "names":
        return NameVocabulary(Names.from_strings(data["names"]))
    if data["kind"] == "hashed":
        buckets = torch.tensor(data["buckets"], dtype=torch.int64)
        return HashVocabulary(data["bits"], buckets, Names.from_strings(data["examples"]), data["collision_rate"])
    assert data["kind"] == "indices", f"no such vocabulary: {data['kind']}"
    return IndexVocabulary(torch.tensor(data["indices"], dtype=torch.int64))


class NameCollector:
    """Numbers the names of many blocks alike. Blocks wait until there is enough to merge, so each name is interned
    a few times only, and memory stays near that of the distinct names."""

    def __init__(self) -> None:
        self._known = Names(bytes_tensor(b""), torch.zeros(1, dtype=torch.int64))
        self._waiting: list[Names] = []
        self._waiting_bytes = 0
        self._maps: list[Tensor] = []

    def add(self, keys: Keys) -> None:
        assert isinstance(keys, Names), "blocks of one data set have keys of one kind"
        self._waiting.append(keys)
        self._waiting_bytes += keys.data.numel() + 8 * len(keys)
        if self._waiting_bytes > max(1 << 25, 2 * (self._known.data.numel() + 8 * len(self._known))):
            self._merge()

    def _merge(self) -> None:
        together = Names.joined([self._known, *self._waiting])
        ids, first = intern_spans(together.data, together.ptr[:-1], together.ptr[1:])
        sizes = [len(names) for names in self._waiting]
        self._maps += [part.clone() for part in ids[len(self._known) :].split(sizes)]
        self._known = together.take(first)
        self._waiting, self._waiting_bytes = [], 0

    def finish(self, hashing_bits: int | None) -> tuple[Vocabulary, list[Tensor]]:
        """The vocabulary, and for each block added the final column of each of its keys."""
        if self._waiting:
            self._merge()
        order = self._known.sorted_order()
        names = self._known.take(order)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(1, len(names) + 1)
        vocabulary: Vocabulary = NameVocabulary(names)
        if hashing_bits is not None:
            vocabulary = hash_names(names, hashing_bits)
            rank = vocabulary.columns(names)[rank - 1]
        return vocabulary, [rank[part] for part in self._maps]


class IndexCollector:
    """The same for int64 indices."""

    def __init__(self) -> None:
        self._blocks: list[Tensor] = []

    def add(self, keys: Keys) -> None:
        assert isinstance(keys, Tensor), "blocks of one data set have keys of one kind"
        self._blocks.append(keys)

    def finish(self, hashing_bits: int | None) -> tuple[Vocabulary, list[Tensor]]:
        assert hashing_bits is None, "indices are not hashed"
        vocabulary = IndexVocabulary(torch.unique(torch.cat(self._blocks)))
        return vocabulary, [vocabulary.columns(keys) for keys in self._blocks]


def distinct(strings: Sequence[str]) -> tuple[Tensor, Names]:
    """(strings,) int64 numbers by first appearance, and the distinct strings in that order."""
    names = Names.from_strings(strings)
    ids, first = intern_spans(names.data, names.ptr[:-1], names.ptr[1:])
    return ids, names.take(first)
