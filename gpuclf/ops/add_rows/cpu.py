"""Addition on the CPU: one pass, rows over threads."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_ROWS = 1 << 13  # rows that one task takes


def add_rows(table: Tensor, rows: Tensor, parts: Tensor, source: Tensor) -> None:
    """See gpuclf.ops.add_rows.add_rows."""
    arrays = table.numpy(), parts.numpy()
    own, other = rows.numpy(), source.numpy()
    spans = [slice(start, start + _ROWS) for start in range(0, rows.numel(), _ROWS)]
    run_on_threads([partial(add, *arrays, own[span], other[span]) for span in spans])


@kernel
def add(table: Any, parts: Any, rows: Any, source: Any) -> None:
    """One task."""
    for place in range(rows.size):
        row, part = rows[place], source[place]
        for k in range(table.shape[1]):
            table[row, k] += parts[part, k]
