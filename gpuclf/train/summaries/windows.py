"""The part of a sentence that is shown for a span: the clause around it, longer where that says too little.

A sentence is cut before a contrast (but, although, while, …), after a semicolon, colon or dash, and after a comma or
before "and" or "so" where a determiner or pronoun begins anew ("the food was good, the service was slow"). The pieces
that the span touches are taken. Where they hold fewer than `FEWEST` words besides the span's, the piece after them
joins, else the one before; of more than `MOST` words those nearest to the span are kept.
"""

from __future__ import annotations

import re

FEWEST = 2
MOST = 36

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_ANEW = (
    r"(?:the|this|that|these|those|a|an|my|our|your|his|her|its|their|i|you|he|she|it|we|they|there|everything|"
    r"everyone|all|both|no|not)\b"
)
_CUT = re.compile(
    r"(?:,\s*)?\b(?:and\s+)?(?=(?:but|however|although|though|while|whereas|yet|except|because)\b)"
    rf"|(?<=[;:])\s*|(?<=\s[-–—])\s+|--+\s*|(?<=[.!?])\s+(?-i:(?![a-z]))|,\s+(?=(?:and\s+|so\s+)?{_ANEW})"
    rf"|\b(?=(?:and|so)\s+{_ANEW})",
    re.IGNORECASE,
)


def snippet_span(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Where the snippet of the span sentence[start:end] begins and ends; it holds the span, and no blanks around it."""
    cuts = sorted({0, len(sentence)} | {found.end() for found in _CUT.finditer(sentence)})
    first = max(place for place, at in enumerate(cuts) if at <= start)
    last = min(place for place, at in enumerate(cuts) if at >= end)
    wanted = len(_WORD.findall(sentence, start, end)) + FEWEST
    while len(_WORD.findall(sentence, cuts[first], cuts[last])) < wanted:
        if last + 1 < len(cuts):
            last += 1
        elif first:
            first -= 1
        else:
            break
    return _trimmed(sentence, *_shortened(sentence, cuts[first], cuts[last], start, end), start, end)


def _shortened(sentence: str, begin: int, stop: int, start: int, end: int) -> tuple[int, int]:
    """At most `MOST` words: those of the span, then as many on both sides."""
    words = [(found.start(), found.end()) for found in _WORD.finditer(sentence, begin, stop)]
    if len(words) <= MOST:
        return begin, stop
    first = next(place for place, word in enumerate(words) if word[1] > start or place == len(words) - 1)
    last = max((place for place, word in enumerate(words) if word[0] < end), default=first)
    spare = max(0, MOST - (last - first + 1))
    low = max(0, min(first - spare // 2, len(words) - MOST))
    high = min(len(words) - 1, max(last, low + MOST - 1))
    return min(words[low][0], start), max(words[high][1], end)


def _trimmed(sentence: str, begin: int, stop: int, start: int, end: int) -> tuple[int, int]:
    """Without blanks, commas and conjunctions at the ends that joined the clause to others."""
    while begin < start and sentence[begin] in " \t\n,;:-–—":
        begin += 1
    joining = re.compile(r"(?:and|so|but)\s+", re.IGNORECASE).match(sentence, begin)
    if joining and joining.end() <= start:
        begin = joining.end()
    while stop > end and sentence[stop - 1] in " \t\n,;:-–—":
        stop -= 1
    return begin, stop
