"""Texts → tokens as byte spans: by character class where the pattern is one that can be, else by `re`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from gpuclf.features.names import Names
from gpuclf.features.token_pattern import (
    DEFAULT_TOKEN_PATTERN,
    all_code_points,
    compile_pattern,
    find_tokens,
)
from gpuclf.ops.word_spans import BEGIN, CONTINUE, word_spans


@dataclass(frozen=True)
class ClassPattern:
    """A pattern as two character classes: one `begins` character, then all `continues` ones, min_chars in all."""

    begins: str
    continues: str
    min_chars: int = 1


# `\b` adds nothing to these: a greedy run of word characters begins and ends at a word boundary anyway.
CLASS_PATTERNS = {
    r"\w+": ClassPattern(r"\w", r"\w"),
    r"\b\w+\b": ClassPattern(r"\w", r"\w"),
    r"(?u)\b\w+\b": ClassPattern(r"\w", r"\w"),
    r"\w\w+": ClassPattern(r"\w", r"\w", 2),
    r"\b\w\w+\b": ClassPattern(r"\w", r"\w", 2),
    r"(?u)\b\w\w+\b": ClassPattern(r"\w", r"\w", 2),
    r"\S+": ClassPattern(r"\S", r"\S"),
    DEFAULT_TOKEN_PATTERN: ClassPattern(r"\w", DEFAULT_TOKEN_PATTERN[2:-1]),
}


@lru_cache(maxsize=8)
def class_table(begins: str, continues: str) -> Tensor:
    """(0x110000,) uint8 for `word_spans`, filled by running `re` itself over every code point."""
    table = torch.zeros(0x110000, dtype=torch.uint8)
    code_points = all_code_points()
    for character_class, bit in ((begins, BEGIN), (continues, CONTINUE)):
        for run in compile_pattern(f"(?:{character_class})+").finditer(code_points):
            table[run.start() : run.end()] |= bit
    return table


def text_normalizer(form: Literal["NFC", "NFKC", "none"], lowercase: bool) -> Callable[[str], str]:
    """Normal form, then lower case, then the normal form again where lower-casing left it (İ gives a bare dot)."""

    def normalize(text: str) -> str:
        if text.isascii():
            return text.lower() if lowercase else text
        if form != "none":
            text = unicodedata.normalize(form, text)
        if lowercase:
            text = text.lower()
            if form != "none":
                text = unicodedata.normalize(form, text)
        return text

    return normalize


@dataclass(frozen=True)
class Tokens:
    """Spans of one buffer: text (bytes,) uint8; starts, ends (tokens,) int64; token_ptr (docs+1,) int64."""

    text: Tensor
    starts: Tensor
    ends: Tensor
    token_ptr: Tensor


def tokenize(texts: Sequence[str], pattern: str) -> Tokens:
    """Tokens of normalised texts, exactly those of `find_tokens`."""
    fast = CLASS_PATTERNS.get(pattern)
    return tokenize_by_class(texts, fast) if fast else tokenize_by_re(texts, compile_pattern(pattern))


def tokenize_by_class(texts: Sequence[str], pattern: ClassPattern) -> Tokens:
    buffer = Names.from_strings(texts)
    table = class_table(pattern.begins, pattern.continues)
    return Tokens(buffer.data, *word_spans(buffer.data, buffer.ptr, table, pattern.min_chars))


def tokenize_by_re(texts: Sequence[str], pattern: re.Pattern[str]) -> Tokens:
    tokens = [find_tokens(pattern, text) for text in texts]
    buffer = Names.from_strings([token for doc in tokens for token in doc])
    token_ptr = torch.tensor([0, *map(len, tokens)]).cumsum(0)
    return Tokens(buffer.data, buffer.ptr[:-1], buffer.ptr[1:], token_ptr)
