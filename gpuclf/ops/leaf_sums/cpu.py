"""Rows down the trees on the CPU; rows over threads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.forest_votes.cpu import goes_left
from gpuclf.ops.forest_votes.record import Forests
from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_ROWS = 1 << 12  # rows that one task takes


def leaf_sums(forests: Forests, leaf: Tensor, codes: Tensor, docs: Tensor, num_classes: int) -> Tensor:
    """See gpuclf.ops.leaf_sums.leaf_sums."""
    replicas = forests.input.shape[0]
    sums = np.zeros((replicas, docs.numel(), num_classes))
    parts = [t.numpy() for t in (forests.input, forests.left, forests.first, forests.size, forests.values, leaf)]
    table, chosen = codes.numpy(), docs.numpy()

    def work(replica: int, start: int) -> None:
        rows = slice(start, start + _ROWS)
        walk(*(part[replica] for part in parts), table, chosen[rows], sums[replica, rows])

    starts = range(0, docs.numel(), _ROWS)
    run_on_threads([partial(work, replica, start) for replica in range(replicas) for start in starts])
    return torch.from_numpy(sums)


@kernel
def walk(
    input: Any, left: Any, first: Any, size: Any, values: Any, leaf: Any, codes: Any, docs: Any, sums: Any
) -> None:
    """Adds the leaf values of all trees for some rows to sums (rows, K)."""
    classes = sums.shape[1]
    for tree in range(input.shape[0]):
        if input[tree, 0] < -1:
            continue
        for place in range(docs.size):
            node = 0
            while input[tree, node] >= 0:
                code = codes[docs[place], input[tree, node]]
                if goes_left(values[tree], first[tree, node], size[tree, node], code):
                    node = left[tree, node]
                else:
                    node = left[tree, node] + 1
            sums[place, tree % classes] += leaf[tree, node]
