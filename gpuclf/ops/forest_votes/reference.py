"""All rows down all trees, a level at a time, as tensors: runs on every device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.forest_votes.record import MISSING_LEFT, MISSING_UNSEEN, Forests

_AT_ONCE = 1 << 22  # walkers: (tree, row) pairs


def forest_votes(
    forests: Forests, codes: Tensor, docs: Tensor, num_classes: int, soft: bool, unseen: str, seen: Tensor | None
) -> Tensor:
    """See gpuclf.ops.forest_votes.forest_votes."""
    replicas, trees, _ = forests.input.shape
    votes = torch.zeros(replicas, docs.numel(), num_classes, dtype=torch.float64, device=codes.device)
    portion = max(1, _AT_ONCE // max(1, trees))
    for replica in range(replicas):
        flat = _Flat(forests, replica)
        known = None if seen is None or unseen == "rest" else seen[replica]
        for place in range(0, docs.numel(), portion):
            part = slice(place, min(place + portion, docs.numel()))
            _walk(flat, codes[docs[part]], votes[replica, part], soft, unseen, known)
    return votes


class _Flat:
    """One forest with its nodes and values numbered through all trees."""

    def __init__(self, forests: Forests, replica: int):
        trees, length = forests.input.shape[1:]
        start = torch.arange(trees, device=forests.input.device)[:, None]
        self.input, size = forests.input[replica].flatten().long(), forests.size[replica].flatten().long()
        leaf = forests.input[replica] < 0
        left = forests.left[replica].long()
        self.left = torch.where(leaf, left, left + start * length).flatten()
        first = forests.first[replica].long()
        self.first = torch.where(forests.size[replica] < 0, first, first + start * forests.values.shape[2]).flatten()
        self.size, self.rows = size, forests.rows[replica].flatten()
        self.values, self.base = forests.values[replica].flatten(), forests.base
        self.roots = (start * length).flatten()[forests.input[replica][:, 0] >= -1]
        self.steps = int(size.max()).bit_length() if size.numel() else 0


def _walk(flat: _Flat, codes: Tensor, votes: Tensor, soft: bool, unseen: str, known: Tensor | None) -> None:
    rows = codes.shape[0]
    node = flat.roots.repeat_interleave(rows)
    row = torch.arange(rows, device=codes.device).repeat(flat.roots.numel())
    weight = torch.ones(node.numel(), dtype=torch.float64, device=codes.device)
    while node.numel():
        input = flat.input[node]
        leaf = input < 0
        _vote(flat, node[leaf], row[leaf], weight[leaf], votes, soft)
        node, row, weight, input = node[~leaf], row[~leaf], weight[~leaf], input[~leaf]
        code = codes[row, input]
        child = torch.where(_goes_left(flat, node, code), flat.left[node], flat.left[node] + 1)
        if known is not None:
            missing = (code == 0) & (flat.size[node] == MISSING_UNSEEN)
            strange = (~known[flat.base[input] + code] & (flat.size[node] >= 0)) | missing
            left = flat.left[node]
            if unseen == "majority":
                child = torch.where(strange, torch.where(flat.rows[left] > flat.rows[left + 1], left, left + 1), child)
            else:
                here, there = flat.rows[left].double(), flat.rows[left + 1].double()
                share = here / (here + there)
                child = torch.cat([torch.where(strange, left, child), left[strange] + 1])
                row = torch.cat([row, row[strange]])
                weight = torch.cat([torch.where(strange, weight * share, weight), (weight * (1 - share))[strange]])
        node = child


def _goes_left(flat: _Flat, node: Tensor, code: Tensor) -> Tensor:
    """Whether a node lists the code (binary search), or its threshold is not below it."""
    low, size = flat.first[node], flat.size[node]
    threshold = size < 0
    high = low + size.clamp(min=0)
    low, end = torch.where(threshold, 0, low), torch.where(threshold, 0, high)
    high, last = end, max(0, flat.values.numel() - 1)
    for _ in range(flat.steps):
        middle = (low + high) // 2
        less = flat.values[middle.clamp(max=last)] < code
        low, high = (
            torch.where(less & (low < high), middle + 1, low),
            torch.where(less, high, torch.minimum(high, middle)),
        )
    listed = (low < end) & (flat.values[low.clamp(max=last)] == code)
    below = (code <= flat.first[node]) & ((code > 0) | (size == MISSING_LEFT))
    return torch.where(threshold, below, listed)


def _vote(flat: _Flat, node: Tensor, row: Tensor, weight: Tensor, votes: Tensor, soft: bool) -> None:
    """Adds leaves' votes to votes (rows, K)."""
    classes = votes.shape[1]
    pairs = flat.size[node] if soft else torch.zeros_like(node)
    alone = pairs == 0
    votes.view(-1).index_add_(0, (row * classes + flat.left[node])[alone], weight[alone])
    node, row, weight, pairs = node[~alone], row[~alone], weight[~alone], pairs[~alone]
    if not node.numel():
        return
    owner = torch.arange(node.numel(), device=node.device).repeat_interleave(pairs)
    inside = torch.arange(owner.numel(), device=node.device) - (pairs.cumsum(0) - pairs)[owner]
    place = flat.first[node][owner] + 2 * inside
    label, count = flat.values[place].long(), flat.values[place + 1].double()
    total = torch.zeros(node.numel(), dtype=torch.float64, device=node.device).index_add_(0, owner, count)
    votes.view(-1).index_add_(0, row[owner] * classes + label, weight[owner] * (count / total[owner]))
