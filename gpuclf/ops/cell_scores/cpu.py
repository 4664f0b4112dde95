"""Cells numbered through a hash table, one logarithm a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from gpuclf.ops.cell_scores.record import LOG_ZERO, Marginal
from gpuclf.ops.conditional_tables.cpu import dense_cells, slots_for
from gpuclf.ops.kernel import kernel


def add_marginal(out: Tensor, codes: Tensor, num_values: Tensor, labels: Tensor, marginal: Marginal) -> None:
    """See gpuclf.ops.cell_scores.add_marginal."""
    _add(
        out.numpy(),
        codes.numpy(),
        num_values.numpy(),
        labels.numpy(),
        marginal.members.numpy(),
        float(marginal.sign),
        marginal.ess / marginal.size,
        float(marginal.documents),
        float(marginal.ess),
        marginal.leave_out,
        LOG_ZERO,
    )


@kernel
def _add(
    out: Any, codes: Any, num_values: Any, labels: Any, members: Any, sign: float, pseudo: float, documents: float,
    ess: float, leave_out: bool, log_zero: float,
) -> None:  # fmt: skip
    rows, classes = out.shape
    cells, stored = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.int64)
    table = np.full(slots_for(rows), -1, dtype=np.int64)
    rest = members.copy()
    rest[0] = False
    count = dense_cells(codes, num_values, rest, cells, table, stored)
    with_class = members[0]
    width = classes if with_class else 1
    held = np.zeros((count, width))
    for n in range(rows):
        if labels[n] >= 0:
            held[cells[n], labels[n] if with_class else 0] += 1.0
    logs = np.empty((count, width))
    for c in range(count):
        for k in range(width):
            logs[c, k] = _log(held[c, k] + pseudo, documents + ess, log_zero)
    for n in range(rows):
        label, cell = labels[n], cells[n]
        if leave_out and label >= 0:
            for k in range(classes):
                place = k if with_class else 0
                less = 1.0 if k == label or not with_class else 0.0
                out[n, k] += sign * _log(held[cell, place] - less + pseudo, documents - 1.0 + ess, log_zero)
        else:
            for k in range(classes):
                out[n, k] += sign * logs[cell, k if with_class else 0]


@kernel
def _log(mass: float, total: float, log_zero: float) -> float:
    return np.log(mass / total) if mass > 0.0 else log_zero
