"""Tree after tree, its rows a level at a time, as tensors: runs on every device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.forest_votes.record import MISSING_LEFT, Forests


def leaf_sums(forests: Forests, leaf: Tensor, codes: Tensor, docs: Tensor, num_classes: int) -> Tensor:
    """See gpuclf.ops.leaf_sums.leaf_sums."""
    replicas, trees, _ = forests.input.shape
    sums = torch.zeros(replicas, docs.numel(), num_classes, dtype=torch.float64, device=codes.device)
    for replica in range(replicas):
        for tree in range(trees):
            if int(forests.input[replica, tree, 0]) >= -1:
                reached = _leaves(forests, replica, tree, codes[docs])
                sums[replica, :, tree % num_classes] += leaf[replica, tree, reached].double()
    return sums


def _leaves(forests: Forests, replica: int, tree: int, codes: Tensor) -> Tensor:
    """(rows,) the leaf that each row ends in."""
    parts = (forests.input, forests.left, forests.first, forests.size)
    input, left, first, size = (part[replica, tree].long() for part in parts)
    values = forests.values[replica, tree]
    node = torch.zeros(len(codes), dtype=torch.int64, device=codes.device)
    place = torch.arange(values.numel(), device=codes.device)
    while bool((input[node] >= 0).any()):
        live = torch.nonzero(input[node] >= 0).flatten()
        at = node[live]
        code = codes[live, input[at]]
        inside = (place >= first[at][:, None]) & (place < (first + size)[at][:, None])
        listed = (inside & (values == code[:, None])).any(1)
        below = (code <= first[at]) & ((code > 0) | (size[at] == MISSING_LEFT))
        goes_left = torch.where(size[at] < 0, below, listed)
        node[live] = left[at] + (~goes_left).long()
    return node
