"""Sums of feature values per class over the training rows of many views, in one pass over the documents."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

_KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type → module of this package; all others: reference

__all__ = ["class_counts"]


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
) -> Tensor:
    """Class counts (F, V+1, K) float64 of F views; `binary` counts documents with a non-zero value instead of values.

    crow (N+1,) int64, col (nnz,) int32 in 1..V, val (nnz,) float32: the rows (gpuclf SparseRows).
    labels (N,) int64 in 0..K-1, -1 for documents that have none and count nowhere. train (F, N) bool.
    col_scale (F, V+1), row_scale (F, N) float32 or None for ones.

    counts[f, v, k] = col_scale[f, v] · Σ val[n, v] · row_scale[f, n] over the rows n of class k that view f trains on;
    counts[f, 0, k] is the number of those rows. A cell is summed in document order, so its bits depend neither on
    threads nor on the other views; sums of integers are exact. The result is feature-major in memory: its
    permute(1, 0, 2) is contiguous.
    """
    module = import_module(f"{__name__}.{_KERNELS.get(val.device.type, 'reference')}")
    counts: Tensor = module.class_counts(
        crow, col, val, labels, train, col_scale, row_scale, num_classes, num_features, binary
    )
    return counts
