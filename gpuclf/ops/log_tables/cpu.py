"""Smoothed logs on a CPU: most cells of a table have count 0 and share one logarithm a replica and class.

The others are gathered, so that NumPy takes their logarithms with vector instructions, and put in place. A task owns a
block of features for all replicas; `feature_sums` gives a task a block of replicas. Tables come from NumPy's allocator,
which asks Linux for huge pages: first touches of small pages took a third of the time.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_BLOCK_CELLS = 1 << 19  # table cells of a task's features, about: what it gathers stays in a core's cache


def smoothed_logs(counts: Tensor, exists: Tensor, view: Tensor, alpha: Tensor, log_norm: Tensor) -> Tensor:
    """See the package."""
    num_features, (num_replicas, num_classes) = counts.shape[1], log_norm.shape
    out = np.empty((num_features, num_replicas, num_classes), dtype=np.float32)
    by_feature = counts.permute(1, 0, 2).contiguous().numpy()
    present = exists.t().contiguous().numpy()
    base = (alpha.log()[:, None] - log_norm).to(torch.float32).contiguous().numpy()  # the value of a count of 0
    members = torch.argsort(view, stable=True).numpy()  # replicas of view f: members[start[f]:start[f + 1]]
    start = torch.cat([view.new_zeros(1), torch.bincount(view, minlength=counts.shape[0]).cumsum(0)]).numpy()
    shared = (members, start, alpha.contiguous().numpy(), log_norm.contiguous().numpy(), base)
    step = max(1, _BLOCK_CELLS // max(1, num_replicas * num_classes))
    parts = (slice(first, first + step) for first in range(0, num_features, step))
    run_on_threads([partial(_fill, by_feature[part], present[part], *shared, out[part]) for part in parts])
    return torch.from_numpy(out)


def occurring(table: Tensor) -> Tensor:
    """See the package."""
    out = np.empty(table.shape[:2], dtype=np.bool_)
    values, step = table.numpy().view(np.int64), 1 << 14
    parts = (slice(first, first + _BLOCK_CELLS) for first in range(0, len(out), step))
    run_on_threads([partial(_find_nonzero, values[part], out[part]) for part in parts])
    return torch.from_numpy(out)


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
    counts: NDArray[np.float64],
    exists: NDArray[np.bool_],
    members: NDArray[np.int64],
    start: NDArray[np.int64],
    alpha: NDArray[np.float64],
    log_norm: NDArray[np.float64],
    base: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Fills out (features of the block, R, K)."""
    logs = np.empty(out.size, dtype=np.float64)
    used = _gather(counts, exists, members, start, alpha, logs)
    np.log(logs[:used], out=logs[:used])
    _place(counts, exists, members, start, log_norm, base, logs, out)


@kernel
def _gather(counts, exists, members, start, alpha, smoothed):
    """Writes count + alpha of all cells with a count, feature by feature; returns how many."""
    used = 0
    for feature in range(counts.shape[0]):
        for f in range(counts.shape[1]):
            if not exists[feature, f]:
                continue
            for k in range(counts.shape[2]):
                count = counts[feature, f, k]
                if count > 0.0:
                    for at in range(start[f], start[f + 1]):
                        smoothed[used] = count + alpha[members[at]]
                        used += 1
    return used


@kernel
def _place(counts, exists, members, start, log_norm, base, logs, out):
    """Fills out, taking the logs in the order in which `_gather` wrote."""
    used = 0
    for feature in range(counts.shape[0]):
        out[feature] = base
        for f in range(counts.shape[1]):
            if not exists[feature, f]:
                for at in range(start[f], start[f + 1]):
                    out[feature, members[at]] = 0.0
                continue
            for k in range(counts.shape[2]):
                if counts[feature, f, k] > 0.0:
                    for at in range(start[f], start[f + 1]):
                        replica = members[at]
                        out[feature, replica, k] = logs[used] - log_norm[replica, k]
                        used += 1


@kernel
def _find_nonzero(bits, out):
    """From the bits of float64 cells: an "or" of integers vectorises, a test cell by cell does not."""
    magnitude = np.int64(0x7FFFFFFFFFFFFFFF)  # without the sign: -0.0 is zero
    for feature in range(bits.shape[0]):
        for f in range(bits.shape[1]):
            found = np.int64(0)
            for k in range(bits.shape[2]):
                found |= bits[feature, f, k]
            out[feature, f] = (found & magnitude) != 0


@kernel
def _add_features(table, out):
    for feature in range(table.shape[0]):
        for replica in range(table.shape[1]):
            for k in range(table.shape[2]):
                out[replica, k] += table[feature, replica, k]
