"""Comma-separated values by RFC 4180, strictly: a stray quote mark is a fault, never a field that runs on for pages."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.data.intake import Intake
from gpuclf.data.readers.delimited_header import HeaderOrNot

_LONGEST = 1 << 26  # characters of one quoted field: beyond this, a quote mark was never closed
_NO_QUOTING = "if quote marks are part of the text: data.quoting: false; else double them inside a quoted field"


class CsvParser:
    """With `data.quoting: false`, quote marks are text and every line is a record."""

    keep_cr = True

    def __init__(self, header: HeaderOrNot, intake: Intake):
        self._header = header
        self._intake = intake
        self._quoting = intake.options.quoting
        self._blank = 0
        self._several = 0  # records of several lines
        self._longest = (0, 0)  # lines, first line
        self._fields: list[str] = []  # of the record that is open
        self._parts: list[str] | None = None  # of the quoted field that is open
        self._held = 0  # characters in _parts
        self._start = 0  # line where the open record starts
        self._opened = 0  # line where the open quote stands
        self._inner: list[str] = []  # further lines of the open record

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Lines with their carriage returns."""
        for line, text in enumerate(lines, first):
            if self._parts is not None:
                self._inner.append(text)
                self._scan(line, text, 0)
            elif self._quoting and '"' in text:
                self._fields, self._start, self._inner = [], line, []
                self._scan(line, text, 0)
            else:
                text = text.removesuffix("\r")
                if text or self._header.width == 1:
                    self._header.record(line, text.split(","))
                else:
                    self._blank += 1

    def _scan(self, line: int, text: str, at: int) -> None:
        """Goes on with the open record at `text[at:]`, and gives it on if it ends in this line."""
        end = len(text) - text.endswith("\r")
        while True:
            if self._parts is None and text[at : at + 1] == '"':
                self._parts, self._held, self._opened = [], 0, line
                at += 1
            if self._parts is not None:
                close = self._close(text, at)
                if close < 0:
                    self._hold(text[at:])
                    return
                after = close + 1
                if after < end and text[after] != ",":
                    self._after_quote(line, text, after)
                    return
                self._fields.append("".join(self._parts))
                self._parts = None
            else:
                comma = text.find(",", at)
                after = comma if comma >= 0 else end
                field = text[at:after]
                if '"' in field:
                    self._bad(f"a quote mark inside the field {field[:60]!r}, which is not quoted (RFC 4180)")
                    return
                self._fields.append(field)
            if after >= end:
                self._record(line)
                return
            at = after + 1

    def _close(self, text: str, at: int) -> int:
        """Where the open field ends, -1 if not in this line; keeps its content on the way, `""` as one mark."""
        assert self._parts is not None
        while True:
            mark = text.find('"', at)
            if mark < 0:
                self._parts.append(text[at:])
                return -1
            if text[mark + 1 : mark + 2] != '"':
                self._parts.append(text[at:mark])
                return mark
            self._parts.append(text[at : mark + 1])
            at = mark + 2

    def _hold(self, rest: str) -> None:
        assert self._parts is not None
        self._parts.append("\n")
        self._held += len(rest) + 1
        if self._held > _LONGEST:
            raise self._unclosed(f"the quote that opens in this line is not closed within {_LONGEST} characters")

    def _after_quote(self, line: int, text: str, after: int) -> None:
        self._parts = None
        what = f"text after a closing quote mark ({text[after : after + 20]!r})"
        if line == self._opened:
            self._bad(what)
            return
        raise self._unclosed(
            f"the quote that opens in this line is closed in line {line}, with {what}: most likely it quotes no field"
        )

    def _unclosed(self, message: str) -> Exception:
        return self._intake.fault(message, line=self._opened, key="data.quoting", remedy=_NO_QUOTING)

    def _bad(self, reason: str) -> None:
        if self._header.width is None:  # without the header line no other line can be understood
            raise self._intake.fault(reason, line=self._start, key="data.quoting", remedy=_NO_QUOTING)
        self._intake.bad(self._start, reason, _NO_QUOTING)

    def _record(self, line: int) -> None:
        if line > self._start:
            self._several += 1
            self._longest = max(self._longest, (line - self._start + 1, self._start))
            swallowed = self._swallowed()
            if swallowed is not None:
                self._bad(
                    f"a quoted field over {line - self._start + 1} lines holds lines that look like records, "
                    f"e.g. line {self._start + 1 + swallowed}: {self._inner[swallowed][:60]!r}; if they are text: "
                    "data.row_like_lines: keep"
                )
                return
        self._header.record(self._start, self._fields)

    def _swallowed(self) -> int | None:
        """The first inner line that has the shape of a record and the label of an earlier one."""
        place, width = self._header.rows.label, self._header.width
        if place is None or self._intake.options.row_like_lines == "keep":
            return None
        for index, text in enumerate(self._inner):
            cells = text.removesuffix("\r").split(",")
            if len(cells) == width and cells[place].strip('"') in self._intake.report.per_class:
                return index
        return None

    def finish(self) -> None:
        """Refuses a quote that is open at the end; tells about blank lines and records of several lines."""
        if self._parts is not None:
            raise self._unclosed("the quote that opens in this line is never closed")
        self._header.finish()
        if self._blank:
            self._intake.note(f"{self._blank} blank lines were passed over")
        if self._several:
            lines, start = self._longest
            self._intake.note(
                f"{self._several} records have line breaks inside quotes; the longest, of {lines} lines, starts in "
                f"line {start}"
            )
