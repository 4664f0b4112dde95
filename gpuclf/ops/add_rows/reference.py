"""Addition by indexing: runs on every device."""

from __future__ import annotations

from torch import Tensor

_ROWS = 1 << 14  # rows at once: what is gathered is held


def add_rows(table: Tensor, rows: Tensor, parts: Tensor, source: Tensor) -> None:
    """See gpuclf.ops.add_rows.add_rows."""
    for own, other in zip(rows.split(_ROWS), source.split(_ROWS), strict=True):
        table[own] += parts[other]
