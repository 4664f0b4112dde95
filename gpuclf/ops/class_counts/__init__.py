"""Sums of feature values per class over the training rows of many views, in one pass over the documents."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import torch
from torch import Tensor

from gpuclf.ops.class_counts.record import ClassCounts

_KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type → module of this package; all others: reference

__all__ = ["ClassCounts", "cell_sums", "class_counts", "counts_of_table"]


def _kernel(tensor: Tensor) -> ModuleType:
    return import_module(f"{__name__}.{_KERNELS.get(tensor.device.type, 'reference')}")


def class_counts(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    labels: Tensor,
    train: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    num_classes: int,
    num_features: int,
    binary: bool = False,
    weights: Tensor | None = None,
) -> ClassCounts:
    """Class counts of F views; `binary` counts documents with a non-zero value instead of values.

    crow (N+1,) int64, col (nnz,) int32 in 1..V, val (nnz,) float32: the rows (gpuclf SparseRows).
    labels (N,) int64 in 0..K-1, -1 for documents that have none and count nowhere. train (F, N) bool.
    col_scale (F, V+1), row_scale (F, N) float32 or None for ones. weights (N,) float64 ≥ 0: how often a document
    counts, None for once.

    The count of feature v and class k in view f is col_scale[f, v] · Σ weights[n] · val[n, v] · row_scale[f, n] over
    the rows n of class k that view f trains on. A cell is summed in document order, so its bits depend neither on
    threads nor on the other views; sums of integers are exact.
    """
    counts: ClassCounts = _kernel(val).class_counts(
        crow, col, val, labels, train, col_scale, row_scale, num_classes, num_features, binary, weights
    )
    return counts


def cell_sums(start: Tensor, label: Tensor, counts: Tensor, num_classes: int) -> tuple[Tensor, Tensor]:
    """totals (F, K) float64 and vocabulary (F,) int64 of cells (see ClassCounts). On a CPU a total is added in feature
    order: its bits do not depend on threads."""
    sums: tuple[Tensor, Tensor] = _kernel(counts).cell_sums(start, label, counts, num_classes)
    return sums


def counts_of_table(table: Tensor) -> ClassCounts:
    """The record of counts that are given with their zeros: (V+1, F, K) float64, row 0 the documents."""
    listed = (table[1:] != 0).any(dim=1)
    label = torch.nonzero(listed)[:, 1]
    start = torch.cat([label.new_zeros(2), listed.sum(dim=1).cumsum(0)])
    counts = table[1:].permute(1, 0, 2)[:, listed].contiguous()
    return ClassCounts(table[0].clone(), start, label, counts, *cell_sums(start, label, counts, table.shape[2]))
