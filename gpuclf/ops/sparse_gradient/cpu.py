"""The transposed product on the CPU: each feature's documents in turn, on all replicas of a view at once."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.gathered_sum import gathered_sum
from gpuclf.ops.kernel import kernel
from gpuclf.ops.sparse_gradient.columns import Columns
from gpuclf.ops.sparse_rows import flat_weights
from gpuclf.ops.threads import run_on_threads

_PIECES = 16  # per thread; the columns differ much in length


def sparse_gradient(
    columns: Columns, col_scale: Tensor | None, row_scale: Tensor | None, gradient: Tensor, out: Tensor
) -> None:
    """See `gpuclf.ops.sparse_gradient`."""
    features, replicas, classes = out.shape
    out[0] = 0
    if not out.numel():
        return
    docs = gradient.shape[0]
    dtype = np.dtype(str(out.dtype).removeprefix("torch."))
    by_feature = np.ones(features, dtype) if col_scale is None else col_scale.to(out.dtype).numpy()
    by_doc = np.ones(docs, dtype) if row_scale is None else row_scale.to(out.dtype).numpy()
    if not docs:
        out.zero_()
        return
    source, step = flat_weights(gradient)
    target, stride = flat_weights(out)
    start = columns.start.numpy()
    shared = (start, columns.doc.numpy(), columns.val.numpy(), by_feature, by_doc, source, step)
    edges = _edges(start, _PIECES * torch.get_num_threads())
    width = replicas * classes
    pieces = [
        partial(_products, *shared, first, last, width, target, stride)
        for first, last in pairwise(edges)
        if first < last
    ]
    run_on_threads([partial(_offset, source, step, docs, width, target), *pieces])


def _edges(start: Any, pieces: int) -> list[int]:
    """Cuts features 1 … V into pieces of about as many entries and features together."""
    features = start.size - 1
    work = start[1:] + np.arange(1, features + 1)
    cuts = np.searchsorted(work, np.linspace(work[0], work[-1], pieces + 1)[1:-1])
    return [1, *np.clip(cuts, 1, features).tolist(), features]


def columns_of(crow: Tensor, col: Tensor, val: Tensor, num_features: int) -> Columns:
    """See `gpuclf.ops.sparse_gradient`."""
    start = torch.zeros(num_features + 2, dtype=torch.int64)
    doc = torch.empty(col.numel(), dtype=torch.int32 if crow.numel() < 2**31 else torch.int64)
    across = torch.empty_like(val, memory_format=torch.contiguous_format)
    rows = (crow.contiguous().numpy(), col.contiguous().numpy(), val.contiguous().numpy())
    _turn(*rows, start.numpy(), doc.numpy(), across.numpy())
    return Columns(start, doc, across)


@kernel
def _turn(crow: Any, col: Any, val: Any, start: Any, doc: Any, across: Any) -> None:
    """Counts the entries of each column, then puts them there in the order of the rows."""
    for i in range(crow[0], crow[-1]):
        start[col[i] + 1] += 1
    for v in range(1, start.size):
        start[v] += start[v - 1]
    place = start[:-1].copy()
    for n in range(crow.size - 1):
        for i in range(crow[n], crow[n + 1]):
            at = place[col[i]]
            place[col[i]] += 1
            doc[at] = n
            across[at] = val[i]


@kernel
def _offset(source: Any, step: Any, docs: Any, width: Any, target: Any) -> None:
    for n in range(docs):
        for j in range(width):
            target[j] += source[n * step + j]


@kernel
def _products(
    start: Any, doc: Any, val: Any, by_feature: Any, by_doc: Any, source: Any, step: Any,
    first: Any, last: Any, width: Any, target: Any, stride: Any,
) -> None:  # fmt: skip
    """Fills target for the features first … last - 1."""
    longest = 0
    for v in range(first, last):
        longest = max(longest, start[v + 1] - start[v])
    index = np.empty(longest, np.int64)
    x = np.empty(longest, target.dtype)
    dtype = target.dtype.type
    for v in range(first, last):
        count = 0
        for i in range(start[v], start[v + 1]):
            n = np.int64(doc[i])
            value = dtype(val[i]) * by_doc[n]
            if value != 0:
                index[count] = n
                x[count] = value
                count += 1
        out = target[v * stride : v * stride + width]
        gathered_sum(source, index, step, x, count, 0, out)
        for j in range(width):
            out[j] *= by_feature[v]
