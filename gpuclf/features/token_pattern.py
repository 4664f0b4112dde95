"""Token patterns: any regular expression of Python's `re`, plus `\\p{M}` for combining marks, which `re` lacks.

`\\w` of `re` is a letter, a digit or an underscore of any script, but not a combining mark (categories Mn, Mc, Me).
So `\\w+` cuts Hindi, Thai or Tamil words at every vowel sign. The default therefore lets a word, once begun by a `\\w`,
go on over marks and over the two joiners that Persian and Indic spelling puts inside words (as word boundaries of
Unicode UAX 29 do). A mark never begins a token, so it is never a token on its own; one-letter words are kept.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

DEFAULT_TOKEN_PATTERN = r"\w[\w\p{M}\u200c\u200d]*"
# The same words, and every other visible character with its marks: for models of whole sentences.
WORDS_AND_SIGNS = DEFAULT_TOKEN_PATTERN + r"|[^\w\s\p{M}\u200c\u200d]\p{M}*"

_MARKS_ESCAPE = r"\p{M}"
# Marks stand below U+20000 and among the variation selectors of plane 14; a test checks all of Unicode.
_MARK_PLANES = (range(0x20000), range(0xE0000, 0xE1000))


@lru_cache(maxsize=1)
def mark_ranges() -> tuple[tuple[int, int], ...]:
    """Combining marks (categories Mn, Mc, Me) as inclusive ranges of code points, rising."""
    marks = (c for plane in _MARK_PLANES for c in plane if unicodedata.category(chr(c))[0] == "M")
    return tuple(_ranges(marks))


def _ranges(rising: Iterable[int]) -> Iterable[tuple[int, int]]:
    first = last = -2
    for code in rising:
        if code != last + 1:
            if first >= 0:
                yield first, last
            first = code
        last = code
    if first >= 0:
        yield first, last


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The compiled pattern, with `\\p{M}` written out; raises `re.error` where `re` would.

    `\\p{M}` is written out as a class of its own, or as the members of the class that it stands in.
    """
    pieces: list[str] = []
    position, in_class = 0, False
    marks = ""
    while position < len(pattern):
        if pattern.startswith(_MARKS_ESCAPE, position):
            marks = marks or "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in mark_ranges())
            pieces.append(marks if in_class else f"[{marks}]")
            position += len(_MARKS_ESCAPE)
            continue
        char = pattern[position]
        if char == "\\":
            pieces.append(pattern[position : position + 2])
            position += 2
            continue
        if in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            opening = re.match(r"\[\^?\]?", pattern[position:])  # a ] in first place is a member
            assert opening is not None
            char = opening.group()
        pieces.append(char)
        position += len(char)
    return re.compile("".join(pieces))


def find_tokens(pattern: re.Pattern[str], text: str) -> list[str]:
    """The tokens of a text, left to right: group 1 where the pattern has a group; empty matches are no tokens."""
    return [token for token in pattern.findall(text) if token]


def all_code_points() -> str:
    """Every code point in order (surrogates too): running `re` over it tells which characters a class holds."""
    return "".join(map(chr, range(sys.maxunicode + 1)))
