"""The counts that belong to an assignment of tags, counted from scratch: the law of every sampler's bookkeeping."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.records import Counts, TypeFeatures


def count(contexts: TypeContexts, features: TypeFeatures, tags: Tensor, num_tags: int) -> Counts:
    """Counts of tags (R, types) int32: every bigram once, sentence edges included."""
    chains = [_count_chain(contexts, features, chain, num_tags) for chain in tags]
    return Counts(*(torch.stack(parts) for parts in zip(*chains, strict=True)))


def _count_chain(contexts: TypeContexts, features: TypeFeatures, tags: Tensor, num_tags: int) -> Counts:
    side, tags = num_tags + 1, tags.to(torch.int64)
    extended = torch.cat([tags, tags.new_full((1,), num_tags)])  # the edge of a sentence
    types = torch.arange(contexts.num_types, device=tags.device)
    cells, numbers = [extended[types] * side + extended[types]], [contexts.own]
    after = extended.repeat_interleave(torch.cat([contexts.right_start.diff(), tags.new_zeros(1)]))
    cells.append(after * side + extended[contexts.right_type.long()])
    numbers.append(contexts.right_count.long())
    starts = contexts.left_type == contexts.num_types  # all other left neighbours are the right neighbours' mirror
    holder = types.repeat_interleave(contexts.left_start.diff())[starts]
    cells.append(num_tags * side + tags[holder])
    numbers.append(contexts.left_count[starts].long())
    transitions = _sums(torch.cat(cells), torch.cat(numbers), side * side).view(side, side)
    feature_cells = (features.values.long() * num_tags + tags[:, None]).flatten()
    by_value = torch.bincount(feature_cells, minlength=features.total * num_tags).view(-1, num_tags)
    return Counts(
        transitions,
        torch.bincount(tags, minlength=num_tags),
        _sums(tags, contexts.tokens, num_tags),
        by_value.to(torch.int32),
    )


def double_counted(counts: Counts) -> Counts:
    """The counts with which the Clojure program began: a bigram of words once from either side, so twice."""
    transitions = counts.transitions.clone()
    transitions[:, :-1, :-1] *= 2
    return counts._replace(transitions=transitions)


def _sums(cell: Tensor, number: Tensor, size: int) -> Tensor:
    """Whole numbers added up by cell, int64."""
    return torch.zeros(size, dtype=torch.int64, device=cell.device).index_add_(0, cell, number)
