"""Class counts on a CPU: rows turned into columns once, class by class, so that a cell's entries lie together.

Each cell is then one weighted sum of rows of (docs, views) weights: one entry serves all views by a short vector
operation. A task owns a block of features for all views, so no two tasks share a cell, and each cell is summed in
document order. With that, "total minus held-out part" would save nothing: the additions hide behind the memory.
Large arrays are NumPy's here: threads that torch wakes for one go on spinning for a while, in the way of ours.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.class_counts.record import ClassCounts
from gpuclf.ops.gathered_sum import gathered_sum
from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_BLOCK = 4096  # features a task: some dozens of tasks at usual vocabularies, each long enough to hide its start
_LANES = 4  # views are filled up to a multiple, so that a sum of rows takes few vector operations


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
    """See the package."""
    by_class = labels.contiguous().numpy()
    order = np.argsort(by_class, kind="stable")[np.count_nonzero(by_class < 0) :]  # labelled documents, class by class
    value = val.contiguous().numpy()
    value = (value != 0).astype(np.float32) if binary else value
    first, doc, by_col = _columns(crow.contiguous().numpy(), col.contiguous().numpy(), value, order, num_features)
    blocks = [slice(at, min(at + _BLOCK, num_features + 1)) for at in range(1, num_features + 1, _BLOCK)]
    sizes = np.zeros(num_features + 2, dtype=np.int64)
    run_on_threads([partial(_count_cells, first, doc, by_class, part.start, part.stop, sizes) for part in blocks])
    start = np.cumsum(sizes)  # sizes[v + 1] is feature v's number of cells
    label, counts = np.empty(start[-1], dtype=np.int64), np.empty((train.shape[0], start[-1]))
    weight, documents = _by_document(train, by_class, row_scale, num_classes, binary, weights)
    shared = (first, doc, by_col, by_class, weight, _factors(col_scale, binary, train.shape[0], num_features))
    run_on_threads([partial(_sum_cells, *shared, part.start, part.stop, start, label, counts) for part in blocks])
    cells = (torch.from_numpy(start), torch.from_numpy(label), torch.from_numpy(counts))
    return ClassCounts(torch.from_numpy(documents), *cells, *cell_sums(*cells, num_classes))


def cell_sums(start: Tensor, label: Tensor, counts: Tensor, num_classes: int) -> tuple[Tensor, Tensor]:
    """See the package."""
    totals = np.zeros((counts.shape[0], num_classes))
    vocabulary = np.zeros((counts.shape[0], 1), dtype=np.int64)
    cells = (start.contiguous().numpy(), label.contiguous().numpy())
    parts = zip(counts.contiguous().numpy(), totals, vocabulary, strict=True)
    run_on_threads([partial(_sum_view, *cells, *part) for part in parts])
    return torch.from_numpy(totals), torch.from_numpy(vocabulary[:, 0])


def _by_document(
    train: Tensor,
    labels: NDArray[np.int64],
    row_scale: Tensor | None,
    num_classes: int,
    binary: bool,
    times: Tensor | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What a row's values count in each view (docs, views), the views filled up with zeros, and the training rows of
    each view and class (F, K)."""
    views, docs = train.shape
    scale = np.ones((views, docs), dtype=np.float32) if row_scale is None else row_scale.contiguous().numpy()
    weight, documents = np.zeros((docs, -(-views // _LANES) * _LANES)), np.zeros((views, num_classes))
    each = np.ones(docs) if times is None else times.contiguous().numpy()
    _weigh(train.contiguous().numpy(), labels, scale, each, binary, weight, documents)
    return weight, documents


def _factors(col_scale: Tensor | None, binary: bool, views: int, num_features: int) -> NDArray[np.float32]:
    """What the sums of a feature are multiplied with in each view, (F, V+1)."""
    if col_scale is None:
        return np.ones((views, num_features + 1), dtype=np.float32)
    factor = col_scale.contiguous().numpy()
    return (factor != 0).astype(np.float32) if binary else factor


def _columns(
    crow: NDArray[np.int64],
    col: NDArray[np.int32],
    val: NDArray[np.float32],
    order: NDArray[np.int64],
    num_features: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The rows `order` as columns, by counting: first (V+2,), documents and values of each column in that order.

    Every thread takes a run of the rows; where its entries go follows from how many the runs before have.
    """
    pieces = np.array_split(order, max(1, min(torch.get_num_threads(), len(order))))
    place = np.zeros((len(pieces), num_features + 1), dtype=np.int64)
    run_on_threads([partial(_histogram, crow, col, rows, place[i]) for i, rows in enumerate(pieces)])
    first = np.zeros(num_features + 2, dtype=np.int64)
    _starts(place, first)
    doc, by_col = np.empty(first[-1], dtype=np.int64), np.empty(first[-1])
    run_on_threads([partial(_transpose, crow, col, val, rows, place[i], doc, by_col) for i, rows in enumerate(pieces)])
    return first, doc, by_col


@kernel
def _weigh(train, labels, scale, times, binary, weight, documents):
    for view in range(train.shape[0]):
        for row in range(train.shape[1]):
            if train[view, row] and labels[row] >= 0:
                documents[view, labels[row]] += times[row]
                factor = np.float64(scale[view, row] != 0) if binary else np.float64(scale[view, row])
                weight[row, view] = times[row] * factor


@kernel
def _histogram(crow, col, rows, sizes):
    for row in rows:
        for entry in range(crow[row], crow[row + 1]):
            sizes[col[entry]] += 1


@kernel
def _starts(place, first):
    """From sizes by piece and column to where each piece begins in each column."""
    total = 0
    for feature in range(place.shape[1]):
        first[feature] = total
        for piece in range(place.shape[0]):
            size = place[piece, feature]
            place[piece, feature] = total
            total += size
    first[place.shape[1]] = total


@kernel
def _transpose(crow, col, val, rows, place, doc, by_col):
    for row in rows:
        for entry in range(crow[row], crow[row + 1]):
            feature = col[entry]
            at = place[feature]
            doc[at] = row
            by_col[at] = val[entry]
            place[feature] = at + 1


@kernel
def _count_cells(first, doc, labels, begin, end, sizes):
    for feature in range(begin, end):
        cells = 0
        last = -1
        for entry in range(first[feature], first[feature + 1]):
            label = labels[doc[entry]]
            if label != last:
                cells += 1
                last = label
        sizes[feature + 1] = cells


@kernel
def _sum_cells(first, doc, val, labels, weight, factor, begin, end, start, label, counts):
    """Fills the cells of the features begin:end from the columns, the row weights (docs, views) and factors."""
    flat, width = weight.reshape(-1), weight.shape[1]
    sums = np.empty(width)
    for feature in range(begin, end):
        entry = first[feature]
        for cell in range(start[feature], start[feature + 1]):
            k = labels[doc[entry]]
            after = entry + 1
            while after < first[feature + 1] and labels[doc[after]] == k:
                after += 1
            gathered_sum(flat, doc[entry:after], width, val[entry:after], after - entry, 0, sums)
            label[cell] = k
            for view in range(counts.shape[0]):
                counts[view, cell] = sums[view] * np.float64(factor[view, feature])
            entry = after


@kernel
def _sum_view(start, label, counts, totals, vocabulary):
    found = 0
    for feature in range(start.shape[0] - 1):
        exists = False
        for cell in range(start[feature], start[feature + 1]):
            totals[label[cell]] += counts[cell]
            exists |= counts[cell] > 0.0
        found += exists
    vocabulary[0] = found
