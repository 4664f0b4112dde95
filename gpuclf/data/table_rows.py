"""Rows of named columns (TSV, CSV, JSON lines, Parquet) to documents: one set of rules for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, Literal

import numpy as np

from gpuclf.data.intake import Body, Intake, TextBody
from gpuclf.data.numbers import float32_of
from gpuclf.data.options import ColumnRef, DataOptions
from gpuclf.data.records import NamedFeatures
from gpuclf.data.row_weight import REMEDY, row_weight

Cell = str | list[str] | None  # None is a null; a list holds several labels, and stands only in the label column

_LIKE_A_HEADER = {"label", "class", "category", "target", "y"}


class TableBody:
    """Documents that are rows of categories and numbers: named features, and the categories by column."""

    def __init__(self, categorical: Sequence[str], numeric: Sequence[str]):
        self._categorical = list(categorical)
        self._numeric = list(numeric)
        self._start()

    def _start(self) -> None:
        self._categories: list[Sequence[str]] = []
        self._numbers: list[Sequence[float]] = []

    def append(self, categories: Sequence[str], numbers: Sequence[float]) -> None:
        """One document: a value for each categorical and each numeric column."""
        self._categories.append(categories)
        self._numbers.append(numbers)

    def build(self) -> dict[str, Any]:
        """NamedFeatures of the documents, zeros dropped, NaN for missing numbers, and their categories by column."""
        docs = len(self._categories)
        by_column = zip(*self._categories, strict=True) if docs else ([] for _ in self._categorical)
        columns = {name: list(cells) for name, cells in zip(self._categorical, by_column, strict=False)}
        named = [[f"{name}={cell}" for cell in cells] for name, cells in columns.items()]
        named += [[name] * docs for name in self._numeric]
        values = np.ones((docs, len(named)), dtype=np.float32)
        values[:, len(columns) :] = np.array(self._numbers, dtype=np.float32).reshape(docs, len(self._numeric))
        names = [name for row in zip(*named, strict=True) for name in row]  # document after document
        kept = values != 0
        if not kept.all():
            names = list(compress(names, kept.ravel().tolist()))
        indptr = np.zeros(docs + 1, dtype=np.int64)
        np.cumsum(kept.sum(axis=1), out=indptr[1:])
        self._start()
        return {"named": NamedFeatures(indptr, names, values[kept]), "columns": columns or None}


def table_body(options: DataOptions) -> TextBody | TableBody:
    """What collects the documents of a table under these options."""
    return TableBody(options.categorical, options.numeric) if options.is_table else TextBody()


def text_refs(options: DataOptions) -> list[ColumnRef]:
    """The columns whose texts make a document."""
    if options.is_table:
        return []
    return list(options.text) if isinstance(options.text, list) else [options.text]


class TableRows:
    """Finds the wanted columns once (`bind`), then turns rows of cells into documents (`row`)."""

    def __init__(self, intake: Intake, body: Body):
        self._intake = intake
        self._options = intake.options
        self._body = body
        self._missing = frozenset(self._options.missing)
        self.names: list[str] = []
        self.label: int | None = None

    def bind(self, names: Sequence[str], *, names_from: Literal["header", "config", "schema"] = "header") -> None:
        """Finds the columns among `names`; `names_from` config: the file names none itself (data.columns, or places).

        Raises: UserFault for a column that is not there or is there twice.
        """
        options, intake = self._options, self._intake
        self.names = list(names)
        self._names_from = names_from
        self.label = self._place(options.label, "data.label") if intake.labelled else None
        self._texts = [self._place(ref, "data.text") for ref in text_refs(options)]
        self._id = self._optional(options.id, "data.id")
        self._group = self._optional(options.group, "data.group")
        weight = options.weight if intake.weighted else None
        self._weight = None if weight is None else self._place(weight, "data.weight")
        self._categorical = [self._place(name, "data.categorical") for name in options.categorical]
        self._numeric = [self._place(name, "data.numeric") for name in options.numeric]

    def label_place(self) -> int | None:
        """Where the label column stands, if it is there at all (a file for prediction need not have one)."""
        ref = self._options.label
        if isinstance(ref, int):
            return ref if ref < len(self.names) else None
        return self.names.index(ref) if ref in self.names else None

    def _optional(self, ref: ColumnRef | None, key: str) -> int | None:
        """A column that files for prediction may lack."""
        if ref is None:
            return None
        if not self._intake.labelled and isinstance(ref, str) and ref not in self.names:
            self._intake.note(f"no column named {ref!r} ({key}) in this file; it was read without")
            return None
        return self._place(ref, key)

    def _place(self, ref: ColumnRef, key: str) -> int:
        found = ", ".join(repr(name) for name in self.names[:20]) + ", …" * (len(self.names) > 20)
        if isinstance(ref, int):
            if ref < len(self.names):
                return ref
            raise self._intake.fault(
                f"no column {ref} (counted from 0): there are {len(self.names)}; found: {found}",
                key=key,
                remedy=f"set {key} to one of them",
            )
        count = self.names.count(ref)
        if count == 1:
            return self.names.index(ref)
        if count:
            places = [str(i) for i, name in enumerate(self.names) if name == ref]
            raise self._intake.fault(
                f"{count} columns are named {ref!r} (places {', '.join(places)})",
                key=key,
                remedy=f"give the place instead, e.g. {key}: {places[0]}",
            )
        remedy = f"set {key} to one of these"
        if self._names_from == "header":
            remedy = (
                f"set {key} to one of these, or, if the first line is no header: data.header: false and "
                "data.columns: [label, text]"
            )
        elif self._names_from == "config":
            remedy = "the file has no header (data.header: false): name its columns, e.g. data.columns: [label, text]"
        raise self._intake.fault(f"no column named {ref!r}; found: {found}", key=key, remedy=remedy)

    def looks_like_header(self, cells: Sequence[Cell]) -> bool:
        """Whether the first row of a file read without a header may be one."""
        if list(cells) == self.names:
            return True
        label = None if self.label is None else cells[self.label]
        return isinstance(label, str) and (label == self._options.label or label.strip().lower() in _LIKE_A_HEADER)

    def row(self, line: int, cells: Sequence[Cell]) -> None:
        """One record: a cell for each of `names`."""
        intake = self._intake
        if len(cells) != len(self.names):
            intake.bad(
                line,
                f"{len(cells)} field{'s' * (len(cells) != 1)} where {len(self.names)} belong "
                f"({', '.join(self.names[:8])}{', …' * (len(self.names) > 8)})",
                "give every line the same fields, and check data.format, data.columns and data.header",
            )
            return
        labels = None if self.label is None else self._labels(cells[self.label])
        id = None if self._id is None else self._filled(cells[self._id])
        group = None if self._group is None else self._filled(cells[self._group])
        if (id is None) != (self._id is None) or (group is None) != (self._group is None):
            what, place = ("id", self._id) if id is None and self._id is not None else ("group", self._group)
            assert place is not None
            intake.bad(line, f"no {what} (column {self.names[place]!r} is empty)", f"fill it, or drop data.{what}")
            return
        try:
            weight = 1.0 if self._weight is None else row_weight(self._filled(cells[self._weight]) or "")
        except ValueError as error:
            intake.bad(line, str(error), REMEDY)
            return
        if isinstance(self._body, TextBody):
            self._text_row(line, cells, labels, id, group, weight)
        else:
            self._table_row(line, cells, labels, id, group, weight)

    def _text_row(
        self,
        line: int,
        cells: Sequence[Cell],
        labels: Sequence[str] | None,
        id: str | None,
        group: str | None,
        weight: float,
    ) -> None:
        texts = [cells[place] for place in self._texts]
        text = " ".join(text for text in texts if isinstance(text, str) and text not in self._missing)
        assert isinstance(self._body, TextBody)
        for _ in range(self._intake.admit(line, labels, id=id, group=group, weight=weight, empty=not text.strip())):
            self._body.texts.append(text)

    def _table_row(
        self,
        line: int,
        cells: Sequence[Cell],
        labels: Sequence[str] | None,
        id: str | None,
        group: str | None,
        weight: float,
    ) -> None:
        missing = self._missing
        # a missing category is a category of its own, ""
        categories = [
            cell if isinstance(cell := cells[place], str) and cell not in missing else "" for place in self._categorical
        ]
        numbers = []
        for place in self._numeric:
            text = self._filled(cells[place])
            if self._options.missing_numbers == "keep" and (text is None or text.strip().lower() == "nan"):
                numbers.append(float("nan"))
                continue
            if text is None:
                self._intake.bad(
                    line,
                    f"column {self.names[place]!r} is empty where a number belongs",
                    "write a number, 0 for none (features of type categorical take missing ones)",
                )
                return
            try:
                numbers.append(float32_of(text))
            except ValueError as error:
                self._intake.bad(line, f"column {self.names[place]!r}: {error}", "write a finite decimal number")
                return
        assert isinstance(self._body, TableBody)
        for _ in range(self._intake.admit(line, labels, id=id, group=group, weight=weight)):
            self._body.append(categories, numbers)

    def _labels(self, cell: Cell) -> list[str]:
        cells = cell if isinstance(cell, list) else [cell]
        filled = [label for label in cells if label is not None and label.strip() and label not in self._missing]
        return list(dict.fromkeys(filled))

    def _filled(self, cell: Cell) -> str | None:
        return cell if isinstance(cell, str) and cell not in self._missing else None
