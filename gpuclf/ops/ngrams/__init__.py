"""Numbers the n-grams of token ids, exactly."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


class NGrams(NamedTuple):
    """All n-grams of 1..longest tokens of every document, by length, then left to right.

    ids below num_ids are the tokens; id num_ids + i is the n-gram left[i] (an id, one token shorter) followed by the
    token right[i]. Ids of n tokens are level_start[n-1] ≤ id < level_start[n], counted up by first appearance.
    ptr (docs+1,) int64; ids (grams,), left, right (new ids,) int64; level_start: longest + 1 numbers.
    """

    ptr: Tensor
    ids: Tensor
    left: Tensor
    right: Tensor
    level_start: list[int]


def ngrams(token_ptr: Tensor, tokens: Tensor, num_ids: int, longest: int) -> NGrams:
    """N-grams within documents: token_ptr (docs+1,) int64, tokens (tokens,) int64 in 0..num_ids-1."""
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(tokens.device.type, 'reference')}")
    return NGrams(*module.ngrams(token_ptr, tokens, num_ids, longest))
