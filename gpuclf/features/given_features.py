"""Features that a file gives itself (svmlight indices, VW names) and tables → blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from gpuclf.data.records import Chunk, IndexedFeatures, NamedFeatures
from gpuclf.faults import UserFault
from gpuclf.features.blocks import Block
from gpuclf.features.names import lengths_to_ptr
from gpuclf.features.vocabulary import distinct


def indexed_block(given: IndexedFeatures) -> Block:
    """Rows by the indices of the file; nothing is renumbered, so 4294967297 is never taken for 1."""
    keys, col = torch.unique(torch.from_numpy(given.indices), return_inverse=True)
    return Block(torch.from_numpy(given.indptr), col, torch.from_numpy(given.values), keys, counts=False)


def named_block(given: NamedFeatures) -> Block:
    """Rows by name; a name that repeats in a row is summed."""
    col, keys = distinct(given.names)
    return Block(torch.from_numpy(given.indptr), col, torch.from_numpy(given.values), keys, counts=False)


def table_columns(chunk: Chunk, numeric: Sequence[str]) -> list[str]:
    """The input columns of a table as training sees it first, sorted by name."""
    assert chunk.columns is not None, "a table has columns"
    names = sorted(chunk.columns)
    for column in numeric:
        if column not in chunk.columns:
            raise UserFault(
                f"column {column!r} is not in the data, which has {', '.join(names) or 'no input column'}",
                key="features.numeric",
                remedy="correct the name, or add the column to data.categorical or data.numeric",
            )
    for column in names:
        rival = next((other for other in names if other != column and column.startswith(f"{other}=")), None)
        if rival is not None:
            message = f"the names of columns {rival!r} and {column!r} could give two features one name"
            raise UserFault(message, remedy=f"rename {column!r} so that it does not begin with {rival + '='!r}")
    return names


def table_block(chunk: Chunk, columns: Sequence[str], numeric: Sequence[str]) -> Block:
    """One entry per column and row, columns found by name: column=value with 1, or a numeric column with its number.

    Columns that training did not have are passed over; one that is missing is a fault.
    """
    held = chunk.columns or {}
    missing = [column for column in columns if column not in held]
    if missing:
        raise UserFault(
            f"column {', '.join(map(repr, missing))} is missing; the model was trained with {', '.join(columns)}",
            line=chunk.lines[0] if chunk.lines else None,
            remedy="give the file the same columns, in any order",
        )
    names: list[list[str]] = []
    values = torch.ones(len(chunk), len(columns))
    for place, column in enumerate(columns):
        if column in numeric:
            names.append([column] * len(chunk))
            numbers = [_number(text, column, line) for text, line in zip(held[column], chunk.lines, strict=True)]
            values[:, place] = torch.tensor(numbers, dtype=torch.float32)
        else:
            names.append([f"{column}={value}" for value in held[column]])
    col, keys = distinct([name for row in zip(*names, strict=True) for name in row])
    crow = lengths_to_ptr([len(columns)] * len(chunk))
    return Block(crow, col, values.flatten(), keys, counts=False)


def _number(text: str, column: str, line: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or abs(number) > torch.finfo(torch.float32).max:
        raise UserFault(
            f"{text!r} in column {column!r} is not a finite number",
            line=line,
            remedy="correct it, or take the column out of features.numeric to read it as a category",
        )
    return number
