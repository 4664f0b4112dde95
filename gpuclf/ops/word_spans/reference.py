"""Tokens from the classes of neighbouring characters, in plain torch.

A run of CONTINUE characters without a break (and without a document end) holds at most one token: it begins at the
run's first BEGIN character and ends with the run.
"""

from __future__ import annotations

import torch
from torch import Tensor


def word_spans(text: Tensor, doc_ptr: Tensor, classes: Tensor, min_chars: int) -> tuple[Tensor, Tensor, Tensor]:
    positions, codes = _decode(text)
    doc = torch.searchsorted(doc_ptr, positions, right=True)
    kind = classes[codes]
    begin, inside = (kind & 1) > 0, (kind & 2) > 0
    fresh = torch.ones_like(inside)  # a run of inside characters starts here
    fresh[1:] = ~inside[:-1] | (doc[1:] != doc[:-1])
    run = torch.cumsum(fresh & inside, 0)
    # Characters that belong to a token: inside, with a BEGIN at or before them in the same run.
    begins_seen = torch.cumsum(begin.to(torch.int64), 0)
    seen_before_run = torch.zeros(int(run.max()) + 1 if run.numel() else 1, dtype=torch.int64, device=text.device)
    heads = fresh & inside
    seen_before_run[run[heads]] = begins_seen[heads] - begin[heads].to(torch.int64)
    member = inside & (begins_seen > seen_before_run[run])
    runs, sizes = torch.unique_consecutive(run[member], return_counts=True)
    offsets = torch.cumsum(sizes, 0) - sizes
    char_ends = torch.cat([positions[1:], torch.tensor([text.numel()], device=text.device)])[: positions.numel()]
    starts, ends = positions[member][offsets], char_ends[member][offsets + sizes - 1]
    long_enough = sizes >= min_chars
    starts, ends = starts[long_enough], ends[long_enough]
    assert runs.numel() == sizes.numel()
    return starts, ends, torch.searchsorted(starts, doc_ptr)


def _decode(text: Tensor) -> tuple[Tensor, Tensor]:
    """Byte position and code point of every character."""
    byte = text.to(torch.int64)
    positions = torch.nonzero((byte & 0xC0) != 0x80).flatten()
    lead = byte[positions]
    length = 1 + (lead >= 0xC0).long() + (lead >= 0xE0).long() + (lead >= 0xF0).long()
    code = torch.where(length == 1, lead, lead & (0xFF >> (length + 1)))
    for extra in range(1, 4):
        has = length > extra
        code[has] = (code[has] << 6) | (byte[positions[has] + extra] & 0x3F)
    return positions, code
