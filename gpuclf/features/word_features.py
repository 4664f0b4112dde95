"""What one word gives besides itself: prefixes, suffixes and its shape, with names that no word can have."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby

from gpuclf.features.options import BagOfWordsOptions

_RESERVED = ("prefix=", "suffix=", "shape=", "word=")
_LONGEST_RUN = 4


def word_shape(word: str) -> str:
    """Xxxx for Unseen, dd for 42, X.X. for U.S.: X upper case, x other letters, d digits, runs cut at 4; marks go."""
    kinds = (_kind(char) for char in word)
    return "".join("".join(list(run)[:_LONGEST_RUN]) for _, run in groupby(k for k in kinds if k))


def _kind(char: str) -> str:
    if char.isupper() or char.istitle():
        return "X"
    if char.isalpha():
        return "x"
    if char.isdigit():
        return "d"
    return "" if not char.isalnum() and (char in "\u200c\u200d" or _is_mark(char)) else char


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def has_extra_features(options: BagOfWordsOptions) -> bool:
    return options.prefixes is not None or options.suffixes is not None or options.shapes


def extra_features(word: str, shape: str | None, options: BagOfWordsOptions) -> list[str]:
    """prefix=…, suffix=… of `word` as far as it is long enough, and shape=… where a shape is given."""
    features = []
    if options.prefixes is not None:
        shortest, longest = options.prefixes
        features += [f"prefix={word[:n]}" for n in range(shortest, min(longest, len(word)) + 1)]
    if options.suffixes is not None:
        shortest, longest = options.suffixes
        features += [f"suffix={word[-n:]}" for n in range(shortest, min(longest, len(word)) + 1)]
    if shape is not None:
        features.append(f"shape={shape}")
    return features


def escape_words(names: Sequence[str]) -> list[str]:
    """Words that look like one of the extra features, or like an escaped word, get word= in front."""
    return [f"word={name}" if name.startswith(_RESERVED) else name for name in names]
