"""What users hand over → rows of tensors: numpy, scipy sparse and torch matrices, labels of any type."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.features.rows import SparseRows
from gpuclf.ops.counter_hash import hash64_numpy


def without_torch(value: Any) -> Any:
    """A torch tensor as a numpy array, or as a scipy CSR array where it is sparse; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach().cpu()
    if value.layout == torch.strided:
        return value.numpy()
    csr = value.to_sparse_csr()
    parts = (csr.values().numpy(), csr.col_indices().numpy(), csr.crow_indices().numpy())
    return scipy.sparse.csr_array(parts, shape=tuple(csr.shape))


def sparse_rows(X: Any) -> SparseRows:
    """Rows of a checked matrix (docs, V), dense or CSR; feature j becomes column j + 1. X is not touched.

    Values are float32 as everywhere in gpuclf: ValueError where one is beyond its range.
    """
    if not scipy.sparse.issparse(X):
        X = scipy.sparse.csr_array(np.asarray(X))
    elif not X.has_canonical_format:
        X = X.copy()  # the next line works in place
        X.sum_duplicates()
    with np.errstate(over="ignore"):
        val = X.data.astype(np.float32)
    if not np.isfinite(val).all():
        raise ValueError(f"X holds {X.data[~np.isfinite(val)][0]!r}, which is beyond the range of float32")
    if X.shape[1] >= 2**31 - 1:
        raise ValueError(f"X has {X.shape[1]} features; 2^31 - 2 are the most")
    filled = val != 0
    running = np.concatenate([[0], np.cumsum(filled, dtype=np.int64)])
    return SparseRows(
        crow=torch.from_numpy(running[X.indptr]),
        col=torch.from_numpy(X.indices[filled].astype(np.int32) + np.int32(1)),
        val=torch.from_numpy(val[filled]),
        num_features=X.shape[1],
    )


def content_keys(rows: SparseRows) -> NDArray[np.int64]:
    """A key for each row (docs,), from what it holds: it stands for the document id that a matrix does not have.

    So the order of an epoch does not depend on the order of the rows, and that of a part of the rows is the order of
    the whole: a fold trained among others equals a fit on that fold alone. Rows that are the same are neighbours.
    """
    bits = rows.val.numpy().view(np.int32)
    with np.errstate(over="ignore"):
        hashed = hash64_numpy(rows.col.numpy(), bits)
        running = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(hashed, dtype=np.int64)])
        return np.diff(running[rows.crow.numpy()])
