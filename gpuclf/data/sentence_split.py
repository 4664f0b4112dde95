"""Where the sentences of a running text begin and end, by its punctuation: a rule, not a model."""

from __future__ import annotations

import re

# A sentence ends at one or more of . ! ? … (or their full-width forms), with quotes and brackets that close after them,
# where white space follows; at a line feed; and at the text's end.
_END = re.compile(r"(?:[.!?\u2026]+[\"'\u2019\u201d\u00bb)\]]*(?=\s)|[\u3002\uff01\uff1f]+[\u300d\u300f\uff09]*|\n)")
_NEXT = re.compile(r"\s*(.?)")
# Words whose full stop ends no sentence (nor does that of a single capital letter, J. Smith), and words whose full stop
# ends one only where no lower-case word follows.
_INSIDE = frozenset(
    ("mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "vs", "e.g", "i.e", "approx", "dept", "fig", "vol")
)
_EITHER = frozenset(("etc", "inc", "ltd", "u.s", "a.m", "p.m"))
_LONGEST = 8  # characters that are looked at before a full stop, more than any of these words has


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each sentence, white space around it left out; none for a text of white space alone."""
    spans: list[tuple[int, int]] = []
    start = 0
    for found in _END.finditer(text):
        if not _goes_on(text, start, found):
            _append(spans, text, start, found.end())
            start = found.end()
    _append(spans, text, start, len(text))
    return spans


def _goes_on(text: str, start: int, found: re.Match[str]) -> bool:
    """Whether the stop stands within a sentence."""
    mark = found.group()
    following = _NEXT.match(text, found.end())
    lower = following is not None and following.group(1).islower()
    if mark != ".":
        return lower and (mark.startswith("..") or mark == "\u2026")
    words = text[max(start, found.start() - _LONGEST) : found.start()].split()
    word = words[-1].lstrip("(\"'\u201c") if words else ""
    if word.lower() in _EITHER:
        return lower
    return word.lower() in _INSIDE or (len(word) == 1 and word.isupper() and word != "I")


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if piece:
        spans.append((start, start + len(piece)))
