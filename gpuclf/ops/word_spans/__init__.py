"""Cuts UTF-8 text into tokens by character class: the fast form of patterns such as `\\w+` and `\\S+`."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference

BEGIN = 1  # the character may begin a token
CONTINUE = 2  # the character may stand inside a token


def word_spans(text: Tensor, doc_ptr: Tensor, classes: Tensor, min_chars: int) -> tuple[Tensor, Tensor, Tensor]:
    """Tokens of documents, left to right: a BEGIN character and all CONTINUE characters that follow it.

    text (bytes,) uint8, valid UTF-8 (surrogates encoded as themselves are allowed); doc_ptr (docs+1,) int64: document d
    is text[doc_ptr[d]:doc_ptr[d+1]]; classes (0x110000,) uint8: BEGIN | CONTINUE of every code point; a token
    shorter than min_chars characters is passed over. BEGIN implies CONTINUE.
    Returns starts, ends (tokens,) int64 byte positions, and token_ptr (docs+1,) int64.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(text.device.type, 'reference')}")
    return module.word_spans(text, doc_ptr, classes, min_chars)
