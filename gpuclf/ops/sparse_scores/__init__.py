"""Scores of sparse documents under many linear models at once."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

KERNELS = {"cpu": "cpu"}  # device type -> module here; a device that is not listed runs the reference


def sparse_scores(
    crow: Tensor,
    col: Tensor,
    val: Tensor,
    docs: Tensor,
    col_scale: Tensor | None,
    row_scale: Tensor | None,
    weights: Tensor,
    double: bool = False,
) -> Tensor:
    """s[r, i, k] = W[0, r, k] + sum over v of x[docs[i], v] W[v, r, k], with x = val · col_scale · row_scale (2.1).

    crow (docs+1,) int64, col (nnz,) int32 or int64 in 1..V, val (nnz,) float: rows in CSR form without the offset;
    docs (n,) int64 row numbers; col_scale (V+1,) and row_scale (all docs,) of one view, None for ones;
    weights (V+1, R, K) float32 or float64, possibly a slice [:, a:b] of more replicas.
    A value whose product is 0 is skipped, so that 0 · inf does not arise. Returns (R, n, K) in the weights' type, laid
    out documents first. On the CPU a document's sums always run in the same order: the same bits for any thread
    count, any other documents and any other replicas in the call.

    With `double`, products and sums are in float64 and only a whole sum is rounded to the weights' type: for log
    probabilities, of which a long document adds up many that nearly cancel between classes.
    """
    kernel = import_module(f"{__name__}.{KERNELS.get(weights.device.type, 'reference')}")
    scores: Tensor = kernel.sparse_scores(crow, col, val, docs, col_scale, row_scale, weights, double)
    return scores
