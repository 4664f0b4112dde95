"""The counts that belong to an assignment of tags, counted from scratch: the law of every sampler's bookkeeping."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.records import Counts, TypeFeatures

_CELLS = 1 << 22  # bigrams whose tags are looked up at once


def count(contexts: TypeContexts, features: TypeFeatures, tags: Tensor, num_tags: int) -> Counts:
    """Counts of tags (R, types) int32: every bigram once, sentence edges included."""
    each = max(1, _CELLS // max(1, contexts.right_type.numel() + features.values.numel()))
    parts = [_count(contexts, features, some.to(torch.int64), num_tags) for some in tags.split(each)]
    return Counts(*(torch.cat(part) for part in zip(*parts, strict=True)))


def _count(contexts: TypeContexts, features: TypeFeatures, tags: Tensor, k: int) -> Counts:
    side, chains, device = k + 1, len(tags), tags.device
    chain = torch.arange(chains, device=device)[:, None]
    types = torch.arange(contexts.num_types, device=device)
    extended = torch.cat([tags, tags.new_full((chains, 1), k)], 1)  # the edge of a sentence has tag K
    of_right = torch.repeat_interleave(types, contexts.right_start.diff())
    starts = contexts.left_type == contexts.num_types  # all other left neighbours are the right neighbours' mirror
    of_start = torch.repeat_interleave(types, contexts.left_start.diff())[starts]
    edge = tags.new_full((chains, of_start.numel()), k)
    first = torch.cat([tags, tags[:, of_right], edge], 1)
    second = torch.cat([tags, extended[:, contexts.right_type.long()], tags[:, of_start]], 1)
    numbers = torch.cat([contexts.own, contexts.right_count.long(), contexts.left_count[starts].long()])
    place = (chain * features.total + features.values.flatten()) * k
    by_value = (place + tags.repeat_interleave(features.values.shape[1], 1)).flatten()
    return Counts(
        _sums((chain * side + first) * side + second, numbers, chains * side * side).view(chains, side, side),
        torch.bincount((chain * k + tags).flatten(), minlength=chains * k).view(chains, k),
        _sums(chain * k + tags, contexts.tokens, chains * k).view(chains, k),
        torch.bincount(by_value, minlength=chains * features.total * k).view(chains, -1, k).to(torch.int32)
        if features.total
        else torch.zeros((chains, 0, k), dtype=torch.int32, device=device),
    )


def double_counted(counts: Counts) -> Counts:
    """The counts with which the Clojure program began: a bigram of words once from either side, so twice."""
    transitions = counts.transitions.clone()
    transitions[:, :-1, :-1] *= 2
    return counts._replace(transitions=transitions)


def _sums(cell: Tensor, number: Tensor, size: int) -> Tensor:
    """Whole numbers (n,), the same for every chain, added up by cell (R, n), int64."""
    numbers = number.expand(cell.shape).flatten()
    return torch.zeros(size, dtype=torch.int64, device=cell.device).index_add_(0, cell.flatten(), numbers)
