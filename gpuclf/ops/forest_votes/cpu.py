"""Rows down the trees on the CPU: tree after tree, so that a tree's nodes stay in the cache; rows over threads."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.forest_votes.record import MISSING_LEFT, MISSING_UNSEEN, Forests
from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_ROWS = 1 << 12  # rows that one task takes
_MODES = {"rest": 0, "majority": 1, "weighted": 2}


def forest_votes(
    forests: Forests, codes: Tensor, docs: Tensor, num_classes: int, soft: bool, unseen: str, seen: Tensor | None
) -> Tensor:
    """See gpuclf.ops.forest_votes.forest_votes."""
    replicas = forests.input.shape[0]
    votes = np.zeros((replicas, docs.numel(), num_classes))
    parts = [
        t.numpy() for t in (forests.input, forests.left, forests.first, forests.size, forests.rows, forests.values)
    ]
    table, chosen, base = codes.numpy(), docs.numpy(), forests.base.numpy()
    mode = _MODES[unseen]
    known = np.ones((replicas, 1), np.bool_) if seen is None or mode == 0 else seen.numpy()

    def work(replica: int, start: int) -> None:
        rows = slice(start, start + _ROWS)
        of_replica = tuple(part[replica] for part in parts)
        walk(*of_replica, base, known[replica], table, chosen[rows], soft, mode, votes[replica, rows])

    starts = range(0, docs.numel(), _ROWS)
    run_on_threads([partial(work, replica, start) for replica in range(replicas) for start in starts])
    return torch.from_numpy(votes)


@kernel
def walk(
    input: Any, left: Any, first: Any, size: Any, rows: Any, values: Any, base: Any, known: Any, codes: Any, docs: Any,
    soft: Any, mode: Any, votes: Any,
) -> None:  # fmt: skip
    """Adds the votes of one forest for some rows to votes (rows, K)."""
    waiting, weights = np.empty(64, np.int64), np.empty(64)
    for tree in range(input.shape[0]):
        if input[tree, 0] < -1:
            continue
        for place in range(docs.size):
            doc = docs[place]
            waiting[0], weights[0] = 0, 1.0
            count = 1
            while count > 0:
                count -= 1
                node, weight = waiting[count], weights[count]
                while input[tree, node] >= 0:
                    i, child = input[tree, node], left[tree, node]
                    code = codes[doc, i]
                    if size[tree, node] >= 0:
                        strange = mode > 0 and not known[base[i] + code]
                    else:
                        strange = mode > 0 and code == 0 and size[tree, node] == MISSING_UNSEEN
                    if strange:
                        here, there = rows[tree, child], rows[tree, child + 1]
                        if mode == 1:
                            node = child if here > there else child + 1
                            continue
                        if count == waiting.size:
                            waiting, weights = longer(waiting, weights)
                        share = here / (here + there)
                        waiting[count], weights[count] = child + 1, weight * (1 - share)
                        count += 1
                        node, weight = child, weight * share
                    elif goes_left(values[tree], first[tree, node], size[tree, node], code):
                        node = child
                    else:
                        node = child + 1
                pairs, begin = size[tree, node], first[tree, node]
                if not soft or pairs == 0:
                    votes[place, left[tree, node]] += weight
                    continue
                total = 0
                for p in range(pairs):
                    total += values[tree, begin + 2 * p + 1]
                for p in range(pairs):
                    votes[place, values[tree, begin + 2 * p]] += weight * (values[tree, begin + 2 * p + 1] / total)


@kernel
def goes_left(values: Any, first: Any, size: Any, code: Any) -> Any:
    """Whether a node lists the code, or its threshold is not below it."""
    if size < 0:
        return code <= first and (code > 0 or size == MISSING_LEFT)
    low, high = first, first + size
    while low < high:
        middle = (low + high) // 2
        if values[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < first + size and values[low] == code


@kernel
def longer(waiting: Any, weights: Any) -> Any:
    """Room for twice as many branches."""
    more, heavier = np.empty(2 * waiting.size, np.int64), np.empty(2 * waiting.size)
    more[: waiting.size], heavier[: waiting.size] = waiting, weights
    return more, heavier
