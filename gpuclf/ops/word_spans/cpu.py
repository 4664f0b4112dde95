"""Numba kernel: one walk over the bytes; ASCII needs no decoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def char_at(text: Any, i: Any) -> Any:
    """Code point and byte length of the UTF-8 character that begins at byte i."""
    lead = np.int64(text[i])
    if lead < 0x80:
        return lead, 1
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | (np.int64(text[i + 1]) & 0x3F), 2
    if lead < 0xF0:
        return ((lead & 0x0F) << 12) | ((np.int64(text[i + 1]) & 0x3F) << 6) | (np.int64(text[i + 2]) & 0x3F), 3
    upper = ((lead & 0x07) << 18) | ((np.int64(text[i + 1]) & 0x3F) << 12)
    return upper | ((np.int64(text[i + 2]) & 0x3F) << 6) | (np.int64(text[i + 3]) & 0x3F), 4


@kernel
def _walk(text: Any, doc_ptr: Any, classes: Any, min_chars: Any, starts: Any, ends: Any, token_ptr: Any) -> Any:
    n = 0
    token_ptr[0] = 0
    for d in range(doc_ptr.size - 1):
        i, stop = doc_ptr[d], doc_ptr[d + 1]
        while i < stop:
            size = 1
            if text[i] < 0x80:
                kind = classes[text[i]]
            else:
                code, size = char_at(text, i)
                kind = classes[code]
            if not kind & 1:
                i += size
                continue
            start = i
            chars = 1
            i += size
            while i < stop:
                size = 1
                if text[i] < 0x80:
                    kind = classes[text[i]]
                else:
                    code, size = char_at(text, i)
                    kind = classes[code]
                if not kind & 2:
                    break
                i += size
                chars += 1
            if chars >= min_chars:
                starts[n] = start
                ends[n] = i
                n += 1
        token_ptr[d + 1] = n
    return n


def word_spans(text: Tensor, doc_ptr: Tensor, classes: Tensor, min_chars: int) -> tuple[Tensor, Tensor, Tensor]:
    # Two tokens never touch, or else they would be one, except across a document's end.
    most = (text.numel() + 1) // 2 + doc_ptr.numel()
    starts = torch.empty(most, dtype=torch.int64)
    ends = torch.empty(most, dtype=torch.int64)
    token_ptr = torch.empty_like(doc_ptr)
    arrays = (starts.numpy(), ends.numpy(), token_ptr.numpy())
    n = _walk(text.numpy(), doc_ptr.numpy(), classes.numpy(), min_chars, *arrays)
    return starts[:n], ends[:n], token_ptr
