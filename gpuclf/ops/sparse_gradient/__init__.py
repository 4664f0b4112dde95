"""The transposed product of sparse documents: what the weights of many linear models gain from score gradients."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.sparse_gradient.columns import Columns

__all__ = ["Columns", "columns_of", "sparse_gradient"]

KERNELS = {"cpu": "cpu"}  # device type -> module here; a device that is not listed runs the reference


def sparse_gradient(
    columns: Columns, col_scale: Tensor | None, row_scale: Tensor | None, gradient: Tensor, out: Tensor
) -> None:
    """out[v, r, k] = sum over n of x[n, v] G[n, r, k], with x = val · col_scale · row_scale, and x[n, 0] = 1.

    columns: the documents by feature (`columns_of`); col_scale (V+1,) and row_scale (docs,) of one view, None for
    ones; gradient (docs, R, K) and out (V+1, R, K), both float32 or both float64 and possibly slices [:, a:b] of more
    replicas. Documents that a view leaves out have gradient 0. A cell is summed in the order of the documents, whatever
    the other cells and the threads; a document of gradient 0 changes no bit of it on the CPU.
    """
    kernel = import_module(f"{__name__}.{KERNELS.get(out.device.type, 'reference')}")
    kernel.sparse_gradient(columns, col_scale, row_scale, gradient, out)


def columns_of(crow: Tensor, col: Tensor, val: Tensor, num_features: int) -> Columns:
    """The columns of rows in CSR form: crow (docs+1,) int64, col (nnz,) in 1 … V = num_features, val (nnz,)."""
    kernel = import_module(f"{__name__}.{KERNELS.get(val.device.type, 'reference')}")
    columns: Columns = kernel.columns_of(crow, col, val, num_features)
    return columns
