"""Smoothed logs on a CPU: most cells of a table have count 0 and share one logarithm a replica and class.

A task owns a block of features for all replicas; `feature_sums` gives a task a block of replicas.
"""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.threads import run_on_threads

_BLOCK = 1024  # features a task


def smoothed_logs(counts: Tensor, exists: Tensor, view: Tensor, alpha: Tensor, log_norm: Tensor) -> Tensor:
    """See the package."""
    num_features, (num_replicas, num_classes) = counts.shape[1], log_norm.shape
    table = torch.empty((num_features, num_replicas, num_classes), dtype=torch.float32)
    by_feature = counts.permute(1, 0, 2).contiguous().numpy()
    present = exists.t().contiguous().numpy()
    base = (alpha.log()[:, None] - log_norm).to(torch.float32).contiguous().numpy()  # the value of a count of 0
    members = torch.argsort(view, stable=True).numpy()  # replicas of view f: members[start[f]:start[f + 1]]
    start = torch.cat([view.new_zeros(1), torch.bincount(view, minlength=counts.shape[0]).cumsum(0)]).numpy()
    shared = (members, start, alpha.contiguous().numpy(), log_norm.contiguous().numpy(), base)
    out = table.numpy()
    parts = (slice(first, first + _BLOCK) for first in range(0, num_features, _BLOCK))
    run_on_threads([partial(_fill, by_feature[part], present[part], *shared, out[part]) for part in parts])
    return table


def feature_sums(table: Tensor) -> Tensor:
    """See the package."""
    num_replicas, num_classes = table.shape[1:]
    sums = torch.zeros((num_replicas, num_classes), dtype=torch.float64)
    values, out = table.numpy(), sums.numpy()
    step = max(1, -(-num_replicas // torch.get_num_threads()))
    parts = (slice(first, first + step) for first in range(0, num_replicas, step))
    run_on_threads([partial(_add_features, values[:, part], out[part]) for part in parts])
    return sums


@numba.njit(nogil=True, cache=True)
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
    num_features, num_views, num_classes = counts.shape
    for feature in range(num_features):
        out[feature] = base
        for f in range(num_views):
            replicas = members[start[f] : start[f + 1]]
            if not exists[feature, f]:
                for replica in replicas:
                    out[feature, replica] = 0.0
                continue
            for k in range(num_classes):
                count = counts[feature, f, k]
                if count > 0.0:
                    for replica in replicas:
                        out[feature, replica, k] = np.log(count + alpha[replica]) - log_norm[replica, k]


@numba.njit(nogil=True, cache=True)
def _add_features(table: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for feature in range(table.shape[0]):
        for replica in range(table.shape[1]):
            for k in range(table.shape[2]):
                out[replica, k] += table[feature, replica, k]
