"""What the tokens of every word type stand beside: the corpus as the sampler needs it, worked out once."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor


@dataclass(frozen=True)
class TypeContexts:
    """Neighbours of each type with counts, in CSR form by type. Bigrams of a type with itself stand apart.

    left_start (types+1,) int64, left_type and left_count (entries,) int32: the types before tokens of a type and how
    often, neighbours rising; the number `types` stands for the start of a sentence. right_*: the same for the types
    after it, where `types` stands for its end. own (types,) int64: bigrams of a type with itself, each counted once.
    tokens (types,) int64: tokens of a type. So tokens = sum of left_count + own = sum of right_count + own.
    """

    left_start: Tensor
    left_type: Tensor
    left_count: Tensor
    right_start: Tensor
    right_type: Tensor
    right_count: Tensor
    own: Tensor
    tokens: Tensor

    @property
    def num_types(self) -> int:
        return self.tokens.numel()

    def to(self, device: torch.device) -> TypeContexts:
        return TypeContexts(**{item.name: getattr(self, item.name).to(device) for item in fields(self)})


def contexts_of(ids: Tensor, offsets: Tensor, num_types: int) -> TypeContexts:
    """The contexts of all types in sentences: ids (tokens,) of types 0..num_types-1, offsets (sentences+1,) int64.

    An empty sentence has no bigram, so it leaves no trace.
    """
    ids = ids.to(torch.int64)
    edge = num_types
    before = torch.cat([ids.new_full((1,), edge), ids[:-1]])[: ids.numel()]
    after = torch.cat([ids[1:], ids.new_full((1,), edge)])[: ids.numel()]
    filled = offsets[1:] > offsets[:-1]
    before[offsets[:-1][filled]] = edge
    after[offsets[1:][filled] - 1] = edge
    own = torch.bincount(ids[after == ids], minlength=num_types)
    left = _neighbours(ids, before, num_types)
    right = _neighbours(ids, after, num_types)
    return TypeContexts(*left, *right, own, torch.bincount(ids, minlength=num_types))


def _neighbours(ids: Tensor, beside: Tensor, num_types: int) -> tuple[Tensor, Tensor, Tensor]:
    """CSR of the distinct (type, other type beside it) pairs: starts, neighbours, counts."""
    other = beside != ids
    pairs = ids[other] * (num_types + 1) + beside[other]
    pairs, counts = torch.unique(pairs, return_counts=True)
    start = ids.new_zeros(num_types + 1)
    start[1:] = torch.bincount(pairs // (num_types + 1), minlength=num_types).cumsum(0)
    return start, (pairs % (num_types + 1)).to(torch.int32), counts.to(torch.int32)
