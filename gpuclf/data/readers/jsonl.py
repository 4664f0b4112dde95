"""JSON lines: one object a line. Numbers and truth values are taken as they are written, never as numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gpuclf.data.intake import Intake
from gpuclf.data.options import ColumnRef
from gpuclf.data.table_rows import Cell, TableRows, text_refs


class _Refused(ValueError):
    """What is wrong with a record."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"field {twice!r} stands twice")
    return fields


def _no_constant(name: str) -> None:
    raise _Refused(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=str, parse_float=str, parse_constant=_no_constant)


class JsonlParser:
    """A label may be a string, a number or a truth value (its text in the file), or a list of such."""

    keep_cr = False

    def __init__(self, rows: TableRows, intake: Intake):
        self._rows = rows
        self._intake = intake
        self._blank = 0
        self._wanted: list[str] | None = None
        self._optional: set[str] = set()

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """One document a line."""
        for line, text in enumerate(lines, first):
            if not text.strip(" \t\r"):
                self._blank += 1
                continue
            try:
                fields = self._fields(text)
                if self._wanted is None:
                    self._bind(fields)
                cells = self._cells(fields)
            except _Refused as reason:
                self._intake.bad(line, str(reason), "write one JSON object a line")
                continue
            self._rows.row(line, cells)

    def _fields(self, text: str) -> dict[str, Any]:
        try:
            fields = _DECODER.decode(text)
        except json.JSONDecodeError as error:
            raise _Refused(f"not JSON: {error.msg} (column {error.colno})") from None
        except RecursionError:
            raise _Refused("nested too deeply") from None
        if not isinstance(fields, dict):
            raise _Refused("not a JSON object")
        if "\\ud" in text or "\\uD" in text:  # only an escape can smuggle in half a character
            try:
                json.dumps(fields, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                raise _Refused("holds half of a surrogate pair, which is no character") from None
        return fields

    def _bind(self, fields: dict[str, Any]) -> None:
        options, intake = self._intake.options, self._intake
        optional = [ref for ref in (options.id, options.group) if ref is not None]
        refs: list[ColumnRef] = [*([options.label] if intake.labelled else []), *text_refs(options), *optional]
        refs += [*options.categorical, *options.numeric]
        refs += [options.weight] if intake.weighted and options.weight is not None else []
        places = [ref for ref in refs if isinstance(ref, int)]
        if places:
            raise intake.fault(
                f"column {places[0]}: JSON fields have names, not places",
                remedy="name the field, e.g. data.label: label",
            )
        if not intake.labelled:
            self._optional = {str(ref) for ref in optional if ref not in fields}
        wanted = [str(ref) for ref in dict.fromkeys(refs) if ref not in self._optional]
        # the first object speaks for the file: a field that it lacks is a wrong setting rather than a bad record
        if options.on_bad == "refuse":
            self._rows.bind(list(fields), names_from="schema")
        self._rows.bind(wanted, names_from="schema")
        self._wanted = wanted

    def _cells(self, fields: dict[str, Any]) -> list[Cell]:
        assert self._wanted is not None
        cells: list[Cell] = []
        for name in self._wanted:
            if name not in fields:
                found = ", ".join(map(repr, list(fields)[:20]))
                raise _Refused(f"no field named {name!r}; found: {found}")
            cells.append(_cell(name, fields[name], several=name == self._intake.options.label))
        return cells

    def finish(self) -> None:
        """Tells about blank lines."""
        if self._blank:
            self._intake.note(f"{self._blank} blank lines were passed over")


def _cell(name: str, value: Any, several: bool) -> Cell:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and several:
        items = [_cell(name, item, several=False) for item in value]
        return [item for item in items if isinstance(item, str)]
    what = "a list" if isinstance(value, list) else "an object"
    raise _Refused(f"field {name!r} holds {what} where a text, a number or a label belongs")
