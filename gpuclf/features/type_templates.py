"""What the spelling of a word type says: one value for each template, by the Unicode properties of its characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from gpuclf.features.options import WordTypesOptions

Template = Callable[[str], str]
NO, YES = "no", "yes"


def templates_of(options: WordTypesOptions) -> dict[str, Template]:
    """The templates that the options ask for, by name, in the order of their columns.

    They take a type in normal form. A suffix is the last n code points; a word with fewer than n is its own value,
    which no suffix of n can be.
    """
    templates: dict[str, Template] = {f"suffix{n}": _suffix(n) for n in range(1, options.suffixes + 1)}
    if options.last3:
        templates["last3"] = _suffix(3)
    tests = {"capital": _is_capitalized, "punctuation": _any("P"), "digit": _any("N"), "hyphen": _any("Pd")}
    for name, test in tests.items():
        if getattr(options, name):
            templates[name] = _worded(test)
    return templates


def _suffix(length: int) -> Template:
    return lambda word: word[-length:]


def _worded(test: Callable[[str], bool]) -> Template:
    return lambda word: YES if test(word) else NO


def _is_capitalized(word: str) -> bool:
    """Whether the first character is upper case or, as in ǅ, title case."""
    return word[:1].isupper() or word[:1].istitle()


def _any(category: str) -> Callable[[str], bool]:
    """Whether any character is of a general category, given by its first letter or by both."""
    return lambda word: any(unicodedata.category(char).startswith(category) for char in word)
