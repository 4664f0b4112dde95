"""Tables of categories → codes: one vocabulary an input, learnt once from the training file and kept in the model.

Inputs stand in the order of their names and values in the order of theirs (by code point), so neither the order of
columns nor that of rows matters, and a file's own coding never does. What a fold may know of the values is the
learner's to see to: a value that only held-out rows have is one that its training rows do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Context, Encoded
from gpuclf.features.options import CategoricalOptions
from gpuclf.features.rows import CodeRows
from gpuclf.ops.counter_hash import hash64_numpy

FORMAT = 1
_TYPE = "categorical"


class CategoryEncoder:
    """values: for each categorical input, by name, its values in order; numbers: for each numeric one its distinct
    numbers, rising. Value v has code v + 1. Code 0 is a value that is not among them, or a missing number.

    A number's code is that of the least known number that is not below it (of the greatest one for numbers above all).
    """

    source = "columns"
    collision_rate = None

    def __init__(self, values: dict[str, list[str]], numbers: dict[str, list[float]]):
        self.values, self.numbers = values, numbers
        self._codes = {name: {v: code for code, v in enumerate(known, start=1)} for name, known in values.items()}
        self._cuts = {name: np.array(known, dtype=np.float32) for name, known in numbers.items()}

    @property
    def names(self) -> list[str]:
        """The inputs, in order."""
        return sorted([*self.values, *self.numbers])

    def value_name(self, name: str, code: int) -> str:
        """A value of an input as a person reads it."""
        if not code:
            return "(unseen)" if name in self.values else "(missing)"
        return self.values[name][code - 1] if name in self.values else f"{self.numbers[name][code - 1]:g}"

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """Codes of documents; columns are found by name, and one that is missing is a fault."""
        context, parts = Context(), [np.zeros((0, len(self.names)), dtype=np.int32)]
        for chunk in context.followed(chunks):
            cells = _cells(chunk, list(self.values), list(self.numbers))
            columns = [self._coded(name, cells[name]) for name in self.names]
            parts.append(np.stack(columns, axis=1) if columns else np.zeros((len(chunk), 0), dtype=np.int32))
        return _encoded(context, self, np.concatenate(parts))

    def _coded(self, name: str, cells: Any) -> NDArray[np.int32]:
        if name in self._codes:
            of_value = self._codes[name].get
            return np.fromiter((of_value(cell, 0) for cell in cells), dtype=np.int32, count=len(cells))
        known = self._cuts[name]
        place = np.minimum(np.searchsorted(known, cells, side="left"), known.size - 1)
        return np.where(np.isnan(cells), 0, place + 1).astype(np.int32)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json."""
        return {"format": FORMAT, "type": _TYPE, "values": self.values, "numbers": self.numbers}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CategoryEncoder:
        """The encoder that `to_json` wrote."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        return cls(data["values"], data["numbers"])


def fit_categories(chunks: Iterable[Chunk], options: CategoricalOptions) -> tuple[CategoryEncoder, Encoded]:
    """The encoder of all values that occur in the documents, and the documents encoded; reads them once."""
    context = Context()
    columns: list[str] | None = None
    numeric: list[str] = []
    met: dict[str, dict[str, int]] = {}
    held: dict[str, list[NDArray[Any]]] = {}
    seen_numbers: set[str] = set()
    chunks_of_numbers: list[tuple[int, dict[str, NDArray[np.float32]]]] = []
    for chunk in context.followed(chunks):
        if columns is None:
            columns = sorted(chunk.columns or {})
            met, held = {name: {} for name in columns}, {name: [] for name in columns}
        cells = _cells(chunk, columns, [])
        for name in columns:
            codes = met[name]
            first_met = (codes.setdefault(cell, len(codes)) for cell in cells[name])
            held[name].append(np.fromiter(first_met, dtype=np.int32, count=len(chunk)))
        found = _numbers(chunk)
        seen_numbers.update(found)
        chunks_of_numbers.append((len(chunk), found))
    numeric = sorted(seen_numbers)
    if columns is None or not [*columns, *numeric]:
        raise UserFault(
            "the table has no inputs", key="data.categorical", remedy="name its columns, e.g. categorical: [a, b]"
        )
    values = {name: sorted(met[name]) for name in columns}
    numbers, number_rows = {}, {}
    for name in numeric:
        empty = np.zeros(0, np.float32)
        parts = [found.get(name, np.zeros(length, np.float32)) for length, found in chunks_of_numbers]
        number_rows[name] = np.concatenate([empty, *parts])
        numbers[name] = np.unique(number_rows[name][~np.isnan(number_rows[name])]).tolist()
    encoder = CategoryEncoder(values, numbers)
    coded = []
    for name in encoder.names:
        if name in numbers:
            coded.append(encoder._coded(name, number_rows[name]))
            continue
        place = {value: code for code, value in enumerate(values[name], start=1)}
        final = np.array([place[value] for value in met[name]], dtype=np.int32)
        coded.append(final[np.concatenate(held[name])])
    return encoder, _encoded(context, encoder, np.stack(coded, axis=1))


def _encoded(context: Context, encoder: CategoryEncoder, codes: NDArray[np.int32]) -> Encoded:
    names = encoder.names
    rows = CodeRows(
        codes=torch.from_numpy(np.ascontiguousarray(codes)),
        num_values=tuple(1 + len(encoder.values.get(name, encoder.numbers.get(name, []))) for name in names),
        ordered=tuple(name in encoder.numbers for name in names),
        keys=tuple(int(hash64_numpy(*name.encode())) for name in names),
    )
    unknown = ((codes == 0) & ~np.array(rows.ordered, np.bool_)).sum(axis=1).astype(np.int64)
    return context.encoded(rows, unknown, unknown < codes.shape[1])


def _cells(chunk: Chunk, categorical: list[str], numeric: list[str]) -> dict[str, Any]:
    """The cells of a chunk by input. Raises UserFault where a column is missing."""
    held = chunk.columns or {}
    if not held and chunk.named is None:
        raise UserFault(
            "features of type categorical need a table",
            key="features.type",
            remedy="name the columns in data.categorical (and data.numeric)",
        )
    missing = [name for name in categorical if name not in held]
    if missing:
        raise UserFault(
            f"column {', '.join(map(repr, missing))} is missing; the model was trained with {', '.join(categorical)}",
            line=chunk.lines[0] if chunk.lines else None,
            remedy="give the file the same columns, in any order",
        )
    cells: dict[str, Any] = {name: held[name] for name in categorical}
    if numeric:
        found = _numbers(chunk)
        cells |= {name: found.get(name, np.zeros(len(chunk), np.float32)) for name in numeric}
    return cells


def _numbers(chunk: Chunk) -> dict[str, NDArray[np.float32]]:
    """The numeric columns of a chunk that hold a number other than 0, NaN where it is missing: readers leave 0 out."""
    if chunk.named is None:
        return {}
    row = np.repeat(np.arange(len(chunk)), np.diff(chunk.named.indptr))
    columns: dict[str, NDArray[np.float32]] = {}
    for place, (name, value) in enumerate(zip(chunk.named.names, chunk.named.values, strict=True)):
        if "=" not in name:  # a category is named column=value
            columns.setdefault(name, np.zeros(len(chunk), np.float32))[row[place]] = value
    return columns
