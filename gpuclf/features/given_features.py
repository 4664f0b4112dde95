"""Features that a file gives itself (svmlight indices, VW names) and tables → blocks."""

from __future__ import annotations

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


def table_columns(chunk: Chunk) -> list[str]:
    """The categorical columns of a table, sorted by name."""
    return sorted(chunk.columns or {})


def table_block(chunk: Chunk, columns: Sequence[str]) -> Block:
    """Rows of a table by feature name: column=value with 1 for a category, a numeric column with its number.

    Readers give these names themselves (`named`, beside `columns`); from `columns` alone they are made here. Columns
    are found by name; those that training did not have are passed over, and one that is missing is a fault.
    """
    held = chunk.columns or {}
    missing = [column for column in columns if column not in held]
    if missing:
        raise UserFault(
            f"column {', '.join(map(repr, missing))} is missing; the model was trained with {', '.join(columns)}",
            line=chunk.lines[0] if chunk.lines else None,
            remedy="give the file the same columns, in any order",
        )
    if chunk.named is not None:
        return named_block(chunk.named)
    names = [[f"{column}={value}" for value in held[column]] for column in columns]
    col, keys = distinct([name for row in zip(*names, strict=True) for name in row])
    crow = lengths_to_ptr([len(columns)] * len(chunk))
    return Block(crow, col, torch.ones(col.numel()), keys, counts=False)
