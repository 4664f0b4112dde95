"""Vowpal Wabbit's text format: `label [importance] ['tag]|namespace name[:value] … |namespace …`.

Simple labels only: one number a line, kept as it is written (any word with `data.named_labels`). The feature `n` of
namespace `s` is called `s^n`, as in VW's audit; of the default namespace, `n` (`^n` where it holds a `^` itself).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuclf.data.intake import Intake
from gpuclf.data.numbers import FLOAT32_MAX, float32_of
from gpuclf.data.records import NamedFeatures
from gpuclf.data.row_weight import row_weight
from gpuclf.data.vw_escape import unescape_vw

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_BLANKS = re.compile(r"[ \t\r]+")
_RAW = "a colon gives a feature its value, a pipe opens a namespace: escape raw text (gpuclf.data.vw_escape)"


class NamedBody:
    """Documents that are sparse rows of name and value."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._ends = [0]
        self._names: list[str] = []
        self._values: list[float] = []

    def append(self, names: Sequence[str], values: Sequence[float]) -> None:
        """One document; zeros are dropped."""
        for name, value in zip(names, values, strict=True):
            if value != 0:
                self._names.append(name)
                self._values.append(value)
        self._ends.append(len(self._names))

    def build(self) -> dict[str, Any]:
        """NamedFeatures of the documents."""
        values = np.array(self._values, dtype=np.float32)
        named = NamedFeatures(np.array(self._ends, dtype=np.int64), self._names, values)
        self._start()
        return {"named": named}


class VwParser:
    """Every line that is not well formed is doubtful, with all its reasons; blank lines are passed over."""

    keep_cr = False

    def __init__(self, intake: Intake, body: NamedBody):
        self._intake = intake
        self._body = body
        self._blank = 0
        self._numbered: list[str] = []  # number-like names with values: first seen, and how many
        self._numbered_count = 0
        self._glued = 0
        self._glued_line = 0

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """One document a line."""
        for line, text in enumerate(lines, first):
            if self._intake.labelled and not text.strip(" \t\r"):
                self._blank += 1
                continue
            head, *spaces = text.split("|")
            reasons: list[str] = []
            label, tag, weight = self._head(head, bool(spaces), reasons)
            names: list[str] = []
            values: list[float] = []
            for at, space in enumerate(spaces):
                self._namespace(line, space, names, values, reasons)
                if at and spaces[at - 1][-1:] not in (" ", "\t"):
                    self._glued += 1
                    self._glued_line = self._glued_line or line
            self._record(line, label, tag, weight, names, values, reasons)

    def _record(
        self,
        line: int,
        label: str,
        tag: str,
        weight: float,
        names: list[str],
        values: list[float],
        reasons: list[str],
    ) -> None:
        id = None
        if self._intake.options.id is not None:
            id = tag or None
            if id is None:
                reasons.append("no tag, which data.id asks for")
        if reasons:
            more = f" and {len(reasons) - 5} more" if len(reasons) > 5 else ""
            self._intake.bad(line, ", ".join(reasons[:5]) + more, _RAW)
            return
        labels = [label] if label else []
        for _ in range(self._intake.admit(line, labels, id=id, weight=weight, empty=not any(values))):
            self._body.append(names, values)

    def _head(self, head: str, piped: bool, reasons: list[str]) -> tuple[str, str, float]:
        """Label, tag and importance before the first pipe."""
        words = [word for word in _BLANKS.split(head) if word]
        tag = ""
        if words and (words[-1].startswith("'") or (piped and head[-1] not in " \t" and len(words) > 1)):
            tag = words.pop().removeprefix("'")
        if not self._intake.labelled:
            return "", tag, 1.0
        label = words[0] if words else ""
        options = self._intake.options
        if label and not options.named_labels and not _NUMBER.fullmatch(label):
            reasons.append(f"label {label!r} is not a number (names as labels: data.named_labels: true)")
        weight = 1.0
        if len(words) > 1:
            if not _NUMBER.fullmatch(words[1]) or len(words) > 2:
                reasons.append(f"{' '.join(words)!r} is not a label and an importance")
            elif self._intake.weighted:
                weight = self._importance(words[1], reasons)
            elif float(words[1]) != 1 and options.weight is None:
                reasons.append(f"importance {words[1]}: documents weigh 1 here, but for data.weight: importance")
        return unescape_vw(label) if options.escaped else label, tag, weight

    def _importance(self, word: str, reasons: list[str]) -> float:
        try:
            return row_weight(word)
        except ValueError as error:
            reasons.append(str(error))
            return 1.0

    def _namespace(self, line: int, space: str, names: list[str], values: list[float], reasons: list[str]) -> None:
        words = _BLANKS.split(space)
        prefix, scale = "", 1.0
        if words[0]:
            prefix, scale = self._feature(words[0], reasons, "namespace")
            if "^" in prefix:
                reasons.append(f"namespace {prefix!r} holds '^', which parts namespace and name")
        for word in words[1:]:
            if not word:
                continue
            name, value = self._feature(word, reasons, "feature")
            if _NUMBER.fullmatch(name) and ":" in word:
                self._numbered_count += 1
                if not self._numbered:
                    self._numbered = [f"line {line}", repr(word), name, f"{value:g}"]
            product = value * scale
            if abs(product) > FLOAT32_MAX:
                reasons.append(f"{word!r} times its namespace's value is beyond the range of float32")
                continue
            full = f"{prefix}^{name}" if prefix or "^" in name else name
            names.append(unescape_vw(full) if self._intake.options.escaped else full)
            values.append(float(np.float32(product)))

    def _feature(self, word: str, reasons: list[str], what: str) -> tuple[str, float]:
        name, colon, number = word.partition(":")
        if not name:
            reasons.append(f"{what} {word!r} has no name")
        if not colon:
            return name, 1.0
        try:
            return name, float32_of(number)
        except ValueError as error:
            reasons.append(f"value of {what} {word!r}: {error}")
            return name, 1.0

    def finish(self) -> None:
        """Tells what may be raw text read as markup."""
        note = self._intake.note
        if self._blank:
            note(f"{self._blank} blank lines were passed over")
        if self._numbered and not self._intake.options.escaped:
            line, word, name, value = self._numbered
            note(
                f"{self._numbered_count} features have a number for a name and a value, the first in {line}: {word} "
                f"was read as name {name}, value {value}; if that is text: {_RAW}"
            )
        if self._glued:
            note(
                f"{self._glued} pipes follow a word without a blank, the first in line {self._glued_line}: what "
                f"follows was read as a namespace; if that is text: {_RAW}"
            )
