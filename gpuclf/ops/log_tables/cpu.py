"""Smoothed logs on a CPU: most cells of a table have count 0 and share one logarithm a replica and class.

The others are gathered, so that NumPy takes their logarithms with vector instructions, and put in place. A task owns a
block of features for all replicas; `feature_sums` gives a task a block of replicas. Tables come from NumPy's allocator,
which asks Linux for huge pages: first touches of small pages took a third of the time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_BLOCK_CELLS = 1 << 18  # table cells of a task's features, about: what it gathers stays in a core's cache


def smoothed_logs(
    start: Tensor,
    label: Tensor,
    counts: Tensor,
    features: Tensor,
    view: Tensor,
    shift: Tensor,
    log_norm: Tensor,
    absent: bool = False,
) -> Tensor:
    """See the package."""
    counts = counts.contiguous()
    num_features, (num_replicas, num_classes) = features.numel(), log_norm.shape
    out = np.empty((num_features, num_replicas, num_classes), dtype=np.float32)
    base = (shift.log() - log_norm).to(torch.float32).contiguous().numpy()  # the value of a count of 0
    members = torch.argsort(view, stable=True).numpy()
    used, sizes = torch.unique(view, return_counts=True)  # replicas of view used[f]: members[first[f]:first[f + 1]]
    first = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)]).numpy()
    place = torch.from_numpy(members) * num_classes  # of a replica's first class among a feature's cells
    by_class = (shift[members].t().contiguous().numpy(), log_norm[members].t().contiguous().numpy(), place.numpy())
    cells = (start.contiguous().numpy(), label.contiguous().numpy(), _views(counts, used).numpy())
    chosen = features.contiguous().numpy()
    step = max(1, _BLOCK_CELLS // max(1, num_replicas * num_classes))
    parts = (slice(at, at + step) for at in range(0, num_features, step))
    shared = (first, *by_class, base.reshape(-1))
    flat = out.reshape(num_features, num_replicas * num_classes)
    run_on_threads([partial(_fill, *cells, chosen[part], *shared, flat[part], absent) for part in parts])
    return torch.from_numpy(out)


def _views(counts: Tensor, used: Tensor) -> Tensor:
    """Rows of counts, which are not copied where one is asked for, or all."""
    if used.numel() == 1:
        return counts[int(used[0])][None]
    return counts if used.numel() == counts.shape[0] else counts[used]


def feature_sums(table: Tensor) -> Tensor:
    """See the package."""
    num_replicas, num_classes = table.shape[1:]
    sums = torch.zeros((num_replicas, num_classes), dtype=torch.float64)
    values, out = table.numpy(), sums.numpy()
    step = max(1, -(-num_replicas // torch.get_num_threads()))
    parts = (slice(first, first + step) for first in range(0, num_replicas, step))
    run_on_threads([partial(_add_features, values[:, part], out[part]) for part in parts])
    return sums


def _fill(
    start: NDArray[Any],
    label: NDArray[Any],
    counts: NDArray[Any],
    features: NDArray[Any],
    first: NDArray[Any],
    shift: NDArray[Any],
    log_norm: NDArray[Any],
    place: NDArray[Any],
    base: NDArray[Any],
    out: NDArray[Any],
    absent: bool,
) -> None:
    """Fills out (features of the block, R·K). shift and log_norm (K, R) and place (R,) have the replicas by view."""
    logs = np.empty(_most(start, features, first), dtype=np.float64)
    used = _gather(start, label, counts, features, first, shift, -1.0 if absent else 1.0, logs)
    with np.errstate(divide="ignore"):
        np.log(logs[:used], out=logs[:used])
    _place(start, label, counts, features, first, log_norm, place, base, logs, out)


@kernel
def _most(start, features, first):
    """The logarithms that the block can need at most."""
    cells = 0
    for feature in features:
        cells += start[feature + 1] - start[feature]
    return cells * first[-1]


@kernel
def _gather(start, label, counts, features, first, shift, sign, smoothed):
    """Writes the smoothed counts of all cells with a count, feature by feature; returns how many."""
    used = 0
    for feature in features:
        for f in range(counts.shape[0]):
            begin, end = first[f], first[f + 1]
            for cell in range(start[feature], start[feature + 1]):
                count = counts[f, cell]
                if count > 0.0:
                    k = label[cell]
                    for at in range(begin, end):
                        smoothed[used + at - begin] = shift[k, at] + sign * count
                    used += end - begin
    return used


@kernel
def _place(start, label, counts, features, first, log_norm, place, base, logs, out):
    """Fills out, taking the logs in the order in which `_gather` wrote."""
    num_classes = log_norm.shape[0]
    used = 0
    for i in range(features.size):
        row = out[i]
        for cell in range(base.size):
            row[cell] = base[cell]
        begin, end = start[features[i]], start[features[i] + 1]
        for f in range(counts.shape[0]):
            exists = False
            for cell in range(begin, end):
                if counts[f, cell] > 0.0:
                    exists = True
                    k = label[cell]
                    for at in range(first[f], first[f + 1]):
                        row[place[at] + k] = logs[used] - log_norm[k, at]
                        used += 1
            if not exists:
                for at in range(first[f], first[f + 1]):
                    row[place[at] : place[at] + num_classes] = 0.0


@kernel
def _add_features(table, out):
    for feature in range(table.shape[0]):
        for replica in range(table.shape[1]):
            for k in range(table.shape[2]):
                out[replica, k] += table[feature, replica, k]
