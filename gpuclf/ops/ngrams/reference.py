"""An n-gram is a pair: the n-gram one shorter at the same place, and the token that follows it."""

from __future__ import annotations

import torch
from torch import Tensor


def ngrams(
    token_ptr: Tensor, tokens: Tensor, num_ids: int, longest: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, list[int]]:
    lengths = token_ptr.diff()
    docs = torch.repeat_interleave(torch.arange(lengths.numel(), device=tokens.device), lengths)
    place = torch.arange(tokens.numel(), device=tokens.device)
    left_in_doc = token_ptr[1:][docs] - place  # tokens from here to the end of the document
    level, levels, owners = tokens, [tokens], [docs]
    lefts, rights, level_start = [tokens[:0]], [tokens[:0]], [0, num_ids]
    for n in range(2, longest + 1):
        here = place[left_in_doc >= n]
        pairs = torch.stack([level[here], tokens[here + n - 1]], dim=1)
        unique, inverse = torch.unique(pairs, dim=0, return_inverse=True) if len(pairs) else (pairs, here)
        first = torch.full((len(unique),), len(pairs), device=tokens.device)
        first = first.scatter_reduce(0, inverse, torch.arange(len(pairs), device=tokens.device), "amin")
        order = torch.argsort(first)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(unique), device=tokens.device)
        lefts.append(unique[order, 0])
        rights.append(unique[order, 1])
        level = torch.full_like(tokens, -1)
        level[here] = rank[inverse] + level_start[-1]
        levels.append(level[here])
        owners.append(docs[here])
        level_start.append(level_start[-1] + len(unique))
    owner = torch.cat(owners)
    by_doc = torch.argsort(owner, stable=True)
    ptr = torch.cat([token_ptr[:1] * 0, torch.bincount(owner, minlength=lengths.numel()).cumsum(0)])
    return ptr, torch.cat(levels)[by_doc], torch.cat(lefts), torch.cat(rights), level_start
