"""Decides about every record, whatever its format: taken, repeated, left out or refused; and collects chunks."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from gpuclf.data.options import DataOptions
from gpuclf.data.paths import as_written
from gpuclf.data.records import Chunk, ReadReport, Sentences
from gpuclf.faults import UserFault, UserFaults

SHOWN = 20  # doubtful lines listed in one fault
SKIP = "or leave out such records: data.on_bad: skip"


class Body(Protocol):
    """Collects the inputs of the documents of a chunk."""

    def build(self) -> dict[str, Any]:
        """Keyword arguments for Chunk; starts anew."""
        ...


class TextBody:
    """Documents that are texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def build(self) -> dict[str, Any]:
        texts, self.texts = self.texts, []
        return {"texts": texts}


class SentenceBody:
    """Documents that are sentences; `with_gold` collects their gold tags as well; `inputs`: further columns by name."""

    def __init__(self, with_gold: bool, inputs: Sequence[str] = ()) -> None:
        self.with_gold = with_gold
        self.inputs = tuple(inputs)
        self._start()

    def _start(self) -> None:
        self._tokens: list[str] = []
        self._gold: list[str] = []
        self._inputs: dict[str, list[str]] = {name: [] for name in self.inputs}
        self._ends = [0]

    def append(self, tokens: Sequence[str], gold: Sequence[str] = (), inputs: Sequence[Sequence[str]] = ()) -> None:
        """One sentence; `gold` is as long as `tokens` where gold tags are collected, else empty; inputs: of each token
        the cells of the further columns."""
        assert len(gold) == len(tokens) * self.with_gold, "one tag a token"
        self._tokens += tokens
        self._gold += gold
        for place, name in enumerate(self.inputs):
            self._inputs[name] += [cells[place] for cells in inputs]
        self._ends.append(len(self._tokens))

    def build(self) -> dict[str, Any]:
        """The sentences since the last call."""
        offsets = np.array(self._ends, dtype=np.int64)
        found = Sentences(offsets, self._tokens, self._gold if self.with_gold else None, self._inputs)
        self._start()
        return {"sentences": found}


class Intake:
    """One per file. A parser calls `admit` or `bad` exactly once for each record, in file order.

    With `on_bad: refuse` the first bad record stops the flow of chunks; the rest of the file is only scanned, so that
    `close` can list all doubtful lines in one fault.
    """

    def __init__(
        self,
        report: ReadReport,
        options: DataOptions,
        body: Body,
        *,
        labelled: bool = True,
        limit: int | None = None,
        sentences: bool = False,
        weighted: bool = False,
    ):
        """`sentences`: the records are sentences, which have no label of their own (their gold stands beside tokens).
        `weighted`: records say how often they count.

        `predicting` says that every record is to be answered, an empty one too.
        """
        self.report = report
        self.options = options
        self.labelled = labelled and not sentences
        self.predicting = not labelled
        self.weighted = weighted
        self.file = as_written(report.path)
        self.pending = 0
        self.underflows = 0
        self._body = body
        self._limit = limit
        self._number = 0
        self._repeats = 0
        self._given = 0
        self._faults: list[UserFault] = []
        self._bad = 0
        self._lines_by_id: dict[str, int] = {}
        self._new_lists()

    def _new_lists(self) -> None:
        self._ids: list[str] = []
        self._lines: list[int] = []
        self._labels: list[str] = []
        self._groups: list[str] = []
        self._weights: list[float] = []

    @property
    def failed(self) -> bool:
        """Whether a bad record has been met that the user did not ask to skip."""
        return self._bad > 0 and self.options.on_bad == "refuse"

    @property
    def room(self) -> int:
        """Documents that may still be taken under data.limit."""
        return 1 << 62 if self._limit is None else self._limit - self._given

    def admit(
        self,
        line: int,
        labels: Sequence[str] | None,
        *,
        id: str | None = None,
        group: str | None = None,
        weight: float = 1.0,
        empty: bool = False,
    ) -> int:
        """How many times the parser is to add the inputs of this record to the body: 0 when it is not taken.

        `labels` holds the distinct labels of the record; it is not looked at when the file is read without labels.
        """
        given: Sequence[str] = ("",)
        if self.labelled:
            given = labels or ()
            if len(given) != 1 or not given[0].strip():
                given = [label for label in given if label.strip()]  # blank in any alphabet: no label
                if len(given) != 1 and not self._labels_fit(line, given):
                    return 0
        if id is not None and self._is_repeated(line, id):
            return 0
        self._number += 1
        if self.failed:
            return 0
        copies = len(given) if self._limit is None else min(len(given), self.room)
        name = id if id is not None else str(self._number)
        for copy, label in enumerate(given[:copies]):
            self._ids.append(name if copy == 0 else f"{name}#{copy + 1}")
            self._lines.append(line)
            if self.weighted:
                self._weights.append(weight)
            if self.labelled:
                self._labels.append(label)
                self.report.per_class[label] = self.report.per_class.get(label, 0) + 1
            if group is not None:
                self._groups.append(group)
            elif self.labelled and self.options.several_labels == "repeat":
                self._groups.append(name)  # copies of one document belong into one fold
        self.report.records += copies > 0
        self.report.empty_documents += empty and copies > 0
        self._repeats += max(0, copies - 1)
        self.pending += copies
        self._given += copies
        return copies

    def admit_parts(self, line: int, parts: int, *, id: str | None = None, group: str | None = None) -> bool:
        """Whether a record is taken that makes `parts` documents: its id with :1, :2, …, one group, one record.

        They have no labels of their own.
        """
        assert not self.labelled, "parts have no labels"
        name = id if id is not None else str(self._number + 1)
        if self._is_repeated(line, name):
            return False
        self._number += 1
        if self.failed:
            return False
        self._ids += [f"{name}:{part}" for part in range(1, parts + 1)]
        self._lines += [line] * parts
        self._groups += [name if group is None else group] * parts
        self.report.records += 1
        self.pending += parts
        self._given += 1
        return True

    def _labels_fit(self, line: int, labels: Sequence[str]) -> bool:
        if not labels:
            self.bad(line, "no label", "give it one")
            return False
        if len(labels) > 1 and self.options.several_labels == "refuse":
            self.bad(
                line,
                f"{len(labels)} labels ({', '.join(map(repr, labels[:5]))}{', …' * (len(labels) > 5)}), "
                "but a document has one here",
                "give the document once with each of its labels: data.several_labels: repeat",
            )
            return False
        return True

    @property
    def number(self) -> int:
        """The number of the last record that was seen, taken or not."""
        return self._number

    def knows_id(self, id: str) -> bool:
        """Whether an earlier record has this id, given by the file."""
        return id in self._lines_by_id

    def _is_repeated(self, line: int, id: str) -> bool:
        if id not in self._lines_by_id:
            self._lines_by_id[id] = line
            return False
        before = self._lines_by_id[id]
        self.bad(line, f"id {id!r} stands in line {before} already", "make ids unique, or leave out data.id")
        return True

    def bad(self, line: int, reason: str, remedy: str) -> None:
        """A record that cannot be taken."""
        self._number += 1
        self._bad += 1
        if self.options.on_bad == "skip":
            self.report.skipped += 1
        if len(self._faults) < SHOWN:
            self._faults.append(UserFault(reason, file=self.file, line=line, remedy=remedy))

    def fault(self, message: str, *, line: int | None = None, key: str | None = None, remedy: str) -> UserFault:
        """A fault of the file as a whole, to be raised at once."""
        return UserFault(message, file=self.file, line=line, key=key, remedy=remedy)

    def note(self, text: str) -> None:
        self.report.notes.append(text)

    def take(self) -> Chunk:
        """The documents collected since the last call."""
        labels = self._labels if self.labelled else None
        groups, weights = self._groups or None, self._weights if self.weighted else None
        chunk = Chunk(self._ids, self._lines, labels, groups=groups, weights=weights, **self._body.build())
        self.pending = 0
        self._new_lists()
        return chunk

    def close(self) -> None:
        """Raises what was refused, or completes the report."""
        if self.failed:
            raise self._listed()
        if self._bad:
            first = self._faults[0]
            self.note(
                f"left out {self._bad} bad record{'s' * (self._bad > 1)} (data.on_bad: skip), "
                f"the first in line {first.line}: {first.message}"
            )
        if self._repeats:
            self.note(f"documents repeated for their other labels (data.several_labels: repeat): {self._repeats}")
        if self._limit is not None and self.room == 0:
            self.note(f"stopped after {self._limit} documents (data.limit)")
        if self.underflows:
            self.note(f"{self.underflows} values too small for float32 were taken as 0")
        self._compare_labels()

    def _listed(self) -> UserFault:
        if self._bad == 1:
            only = self._faults[0]
            return replace(only, remedy=f"{only.remedy}, {SKIP}")
        told: set[str | None] = set()
        faults = []
        for fault in self._faults:  # each remedy once
            faults.append(fault if fault.remedy not in told else replace(fault, remedy=None))
            told.add(fault.remedy)
        more = f", {SHOWN} of them shown" if self._bad > SHOWN else ""
        faults.append(UserFault(f"{self._bad} doubtful records{more}", file=self.file, remedy=f"mend them, {SKIP}"))
        return UserFaults(faults)

    def _compare_labels(self) -> None:
        """Notes labels that a person cannot tell apart; they stay what they are."""
        seen: dict[str, str] = {}
        for label in self.report.per_class:
            key = unicodedata.normalize("NFC", label.strip())
            other = seen.setdefault(key, label)
            if other != label:
                self.note(f"labels {other!a} and {label!a} look alike but are two classes (blanks or Unicode form)")
