"""Contexts of ambiguous words: what the readers of sense-tagged corpora share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuclf.data.records import Contexts

SHOWN = 5  # words listed in a note


class ContextBody:
    """Documents that are contexts of a word; `words`: the ambiguous words of all of them so far, where given."""

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self._start()

    def _start(self) -> None:
        self._tokens: list[str] = []
        self._tags: list[str] = []
        self._heads: list[int] = []
        self._words: list[str | None] = []
        self._ends = [0]

    def append(self, tokens: Sequence[str], tags: Sequence[str], head: int, word: str | None = None) -> None:
        """One context; `head` is the place of the ambiguous word among its tokens, `word` its name, if any."""
        assert len(tags) == len(tokens), "a tag a token"
        assert 0 <= head < len(tokens), "the head is one of the tokens"
        self._tokens += tokens
        self._tags += tags
        self._heads.append(head)
        self._words.append(word)
        if word is not None:
            self.words[word] = None
        self._ends.append(len(self._tokens))

    def build(self) -> dict[str, Any]:
        """The contexts since the last call."""
        offsets = np.array(self._ends, dtype=np.int64)
        words = [word for word in self._words if word is not None]
        named = words if len(words) == len(self._words) else None
        found = Contexts(offsets, self._tokens, self._tags, np.array(self._heads, dtype=np.int64), named)
        self._start()
        return {"contexts": found}

    def words_note(self) -> str | None:
        """What a user should know of a file with several ambiguous words; None for any other."""
        if len(self.words) < 2:
            return None
        listed = ", ".join(sorted(self.words)[:SHOWN]) + ", …" * (len(self.words) > SHOWN)
        return (
            f"contexts of {len(self.words)} ambiguous words ({listed}): a model for each where features.by_word is "
            "true, else one for all"
        )


@dataclass(frozen=True)
class Item:
    """One item of a context: a word with its tag ("" for none), or a bare marker, which is no word."""

    text: str
    tag: str = ""
    marker: bool = False


class BadContext(ValueError):
    """What is wrong with a record."""


def words_of(items: Sequence[Item], head: int) -> tuple[list[str], list[str], int]:
    """Words, their tags and the place of the head, without the markers among them (SGML remains such as FRASL).

    Raises: BadContext where the head is none of the items, or a marker.
    """
    if not 0 <= head < len(items):
        raise BadContext(f"the target is item {head} of a context of {len(items)} (counted from 0)")
    if items[head].marker:
        raise BadContext(f"the target is {items[head].text!r}, which is a marker and no word")
    words = [item for item in items if not item.marker]
    place = sum(not item.marker for item in items[:head])
    return [item.text for item in words], [item.tag for item in words], place
