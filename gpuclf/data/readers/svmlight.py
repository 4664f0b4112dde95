"""svmlight and libsvm: `label [qid:GROUP] index:value … [# comment]`, one document a line.

Indices stay as they are written, in 64 bits; whether they count from 0 or 1 is one decision for all files of a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuclf.data.intake import Intake
from gpuclf.data.numbers import float32_of
from gpuclf.data.records import IndexedFeatures

_INDEX_LIMIT = 2**63 - 1
# what nearly every line looks like; anything else is read token by token
_PLAIN = re.compile(r"[ \t]*+(?:[0-9]{1,18}:[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,4})?(?:[ \t]++|\Z))*+")
_VALUE_REMEDY = "scale or remove such values: features are float32"

Row = tuple[NDArray[np.int64], NDArray[np.float32]]


class IndexedBody:
    """Documents that are sparse rows of index and value."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def append(self, row: Row) -> None:
        """One document: rising indices, values without zeros."""
        self._rows.append(row)

    def build(self) -> dict[str, Any]:
        """IndexedFeatures of the documents."""
        rows, self._rows = self._rows, []
        indptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum([len(indices) for indices, _ in rows], out=indptr[1:])
        indices = np.concatenate([row[0] for row in rows]) if rows else np.zeros(0, dtype=np.int64)
        values = np.concatenate([row[1] for row in rows]) if rows else np.zeros(0, dtype=np.float32)
        return {"indexed": IndexedFeatures(indptr, indices, values)}


class SvmlightParser:
    """Blank lines and lines of comment are passed over; without labels, a blank line is a document without features."""

    keep_cr = False

    def __init__(self, intake: Intake, body: IndexedBody, base: int | None):
        """`base`: the first index where it is known; None finds it in this file (0 if an index 0 occurs, else 1)."""
        self._intake = intake
        self._body = body
        self._base = base
        self._lowest: int | None = None
        self._blank = 0
        self._unsorted = 0
        self._groups: bool | None = None  # whether lines have a qid; the first line decides

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Splits off labels, then reads the numbers of all lines at once; line by line only where something is odd."""
        kept: list[tuple[int, str, str]] = []  # line, label, features
        for line, text in enumerate(lines, first):
            text = text.partition("#")[0].strip(" \t\r\f\v")
            if not text and self._intake.labelled:
                self._blank += 1
                continue
            label, _, rest = text.partition(" ") if "\t" not in text else _cut(text)
            kept.append((line, "", text) if ":" in label else (line, label, rest))
        rows = None if self._groups else self._fast([features for _, _, features in kept])
        for at, (line, label, features) in enumerate(kept):
            if rows is None:
                self._slow_row(line, label, features)
            else:
                self._admit(line, label, None, rows[at])

    def _fast(self, features: list[str]) -> list[Row] | None:
        """The rows of many lines, None when any of them needs a closer look."""
        joined = " ".join(features)
        if _PLAIN.fullmatch(joined) is None:
            return None
        numbers = np.fromstring(joined.replace(":", " "), dtype=np.float64, sep=" ")  # exact for indices below 2^53
        if numbers[::2].max(initial=0) >= 2**53:
            return None
        indices, wide = numbers[::2].astype(np.int64), numbers[1::2]
        with np.errstate(over="ignore", under="ignore"):
            values = wide.astype(np.float32)
        counts = np.array([line.count(":") for line in features], dtype=np.int64)
        ends = np.cumsum(counts)
        rising = np.ones(len(indices), dtype=np.bool_)
        rising[1:] = np.diff(indices) > 0
        rising[ends[(ends < len(indices))]] = True  # the first of a row has none before it
        lowest = int(indices.min(initial=_INDEX_LIMIT))
        if not rising.all() or not np.isfinite(values).all() or lowest < (self._base or 0):
            return None
        self._groups = False
        if len(indices):
            self._lowest = lowest if self._lowest is None else min(self._lowest, lowest)
        keep = values != 0
        self._intake.underflows += int(((wide != 0) & ~keep).sum())
        starts = ends - counts
        if keep.all():
            return [(indices[a:b], values[a:b]) for a, b in zip(starts, ends, strict=True)]
        return [(indices[a:b][keep[a:b]], values[a:b][keep[a:b]]) for a, b in zip(starts, ends, strict=True)]

    def _slow_row(self, line: int, label: str, features: str) -> None:
        tokens = features.split()
        group = tokens.pop(0)[4:] if tokens and tokens[0].startswith("qid:") else None
        entries: dict[int, float] = {}
        reasons = []
        remedies = []
        if self._groups is None:
            self._groups = group is not None
        if self._groups != (group is not None):
            reasons.append("a qid, which earlier lines lack" if group is not None else "no qid, unlike earlier lines")
            remedies.append("give all lines a qid, or none")
        for token in tokens:
            try:
                index, value = self._entry(token)
                if index in entries:
                    raise ValueError(f"feature {index} stands twice")
                entries[index] = value
            except ValueError as error:
                reasons.append(str(error))
                is_value = "float32" in str(error) or "finite" in str(error)
                remedies.append(_VALUE_REMEDY if is_value else self._hint(token))
        if reasons:
            more = f" and {len(reasons) - 5} more" if len(reasons) > 5 else ""
            self._intake.bad(line, ", ".join(reasons[:5]) + more, remedies[0])
            return
        if entries:
            lowest = min(entries)
            self._lowest = lowest if self._lowest is None else min(self._lowest, lowest)
        ordered = sorted(entries)
        self._unsorted += ordered != list(entries)
        kept = [index for index in ordered if entries[index] != 0]
        row = np.array(kept, dtype=np.int64), np.array([entries[index] for index in kept], dtype=np.float32)
        self._admit(line, label, group, row)

    def _entry(self, token: str) -> tuple[int, float]:
        name, colon, number = token.partition(":")
        if not colon:
            raise ValueError(f"{token!r} is not index:value")
        if not re.fullmatch(r"[+-]?[0-9]+", name):
            raise ValueError(f"index {name!r} of {token!r} is not a whole number")
        index = int(name)
        if index < 0:
            raise ValueError(f"index {index} is negative")
        if index > _INDEX_LIMIT:
            raise ValueError(f"index {index} is above the limit {_INDEX_LIMIT}")
        if self._base is not None and index < self._base:
            raise ValueError(f"index {index} in a file whose indices count from {self._base}")
        try:
            value = float32_of(number)
        except ValueError as error:
            raise ValueError(f"feature {index}: {error}") from None
        if value == 0 and float(number) != 0:
            self._intake.underflows += 1
        return index, value

    def _hint(self, token: str) -> str:
        if self._base and token.partition(":")[0] in ("0", "+0", "-0"):
            return "the base is one for all files of a model: data.index_base: 0 if the training file counts from 0"
        return "write `label index:value index:value …`"

    def _admit(self, line: int, label: str, group: str | None, row: Row) -> None:
        labels = list(dict.fromkeys(part for part in label.split(",") if part))
        for _ in range(self._intake.admit(line, labels, group=group, empty=len(row[0]) == 0)):
            self._body.append(row)

    def finish(self) -> None:
        """Settles the base, and tells about it."""
        intake = self._intake
        if self._base is None:
            base = 0 if self._lowest == 0 else 1
            why = "an index 0 occurs" if base == 0 else "no index 0 occurs"
            intake.note(f"indices count from {base}: {why} in this file (data.index_base: auto); so for later files")
            intake.report.index_base = base
        if self._blank:
            intake.note(f"{self._blank} blank lines and comments were passed over")
        if self._unsorted:
            intake.note(f"{self._unsorted} rows had their indices out of order; they were sorted")


def _cut(text: str) -> tuple[str, str, str]:
    parts = text.split(None, 1)
    return parts[0] if parts else "", " ", parts[1] if len(parts) > 1 else ""
