"""The polarity of a snippet by a list of opinion words: negation, strength, contrast and what might have been.

A snippet is cut into clauses at punctuation and at contrasts. In a clause each opinion word or phrase counts its
strength; the words before it in the clause change it (`_changed`). What stands after "but" weighs more than what it
takes back, what an "although" concedes weighs less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpuclf.train.summaries.lemmas import folded, words_of
from gpuclf.train.summaries.opinion_words import LONGEST_PHRASE, PHRASES, WORDS

NEUTRAL_BELOW = 0.2  # strengths nearer to 0 are neither praise nor blame


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATORS = _words(
    """not no never cannot can't couldn't don't doesn't didn't isn't wasn't aren't weren't won't wouldn't haven't
    hasn't hadn't shouldn't ain't without hardly barely scarcely neither nor none nobody dont doesnt didnt isnt
    wasnt cant wont rarely seldom"""
)
_STRONGER = _words(
    """very really so extremely incredibly super absolutely totally truly highly insanely such especially particularly
    always most completely deeply exceptionally amazingly ridiculously insane crazy painfully unbelievably
    outrageously damn"""
)
_WEAKER = _words("slightly somewhat fairly bit little mildly rather kinda sorta mostly usually sometimes")
_UNREAL = _words("should could might hoped expected wish wished")
_OF_MEASURE = _words(
    """small big large loud quiet dark bright cold hot sweet salty spicy rich light heavy soft hard thin thick long
    short dry moist crispy cheesy sour bitter strong cool warm fancy trendy hip close fast quick saucy buttery"""
)
_CONTRAST = _words("but however yet except")
_CONCESSION = _words("although though despite while")
_CLAUSE = re.compile(r"[,;:.!?()\[\]\n]+|\s[-–—]+\s|--+|…")
_REACH = 5  # words that a negation reaches over
_TURNED = -0.75  # what negation leaves of a strength: not great is less bad than bad
_TAKEN_BACK = 0.5


def strength(text: str) -> float:
    """Above 0 for praise, below for blame, by how much; 0 where no opinion word is found."""
    total, before = 0.0, 1.0
    for clause, weight, takes_back in reversed(list(_clauses(text))):
        total += before * weight * sum(_strengths(clause))
        if takes_back and any(_strengths(clause)):
            before *= _TAKEN_BACK
    return total * (1.2 if "!" in text else 1.0)


def polarity_of(snippet: str, sentence: str = "") -> int:
    """1, 0 or -1; by the sentence around it where a snippet has no opinion word."""
    found = strength(snippet) or strength(sentence)
    return 0 if abs(found) < NEUTRAL_BELOW else 1 if found > 0 else -1


def _clauses(text: str) -> Iterator[tuple[list[str], float, bool]]:
    """Words of each clause, its weight, and whether it takes back what stood before."""
    for piece in _CLAUSE.split(text.replace("’", "'")):
        clause: list[str] = []
        weight, takes_back = 1.0, False
        for word in words_of(piece):
            if word in _CONTRAST or word in _CONCESSION:
                if clause:
                    yield clause, weight, takes_back
                clause, takes_back = [], word in _CONTRAST
                weight = _TAKEN_BACK if word in _CONCESSION else 1.0
            else:
                clause.append(word)
        if clause:
            yield clause, weight, takes_back


def _strengths(words: Sequence[str]) -> Iterator[float]:
    """The strength of each opinion word or phrase of a clause."""
    place = 0
    while place < len(words):
        longest = min(LONGEST_PHRASE, len(words) - place)
        lengths = (n for n in range(longest, 0, -1) if tuple(words[place : place + n]) in PHRASES)
        length = next(lengths, 0)
        if length:
            found = PHRASES[tuple(words[place : place + length])]
        else:
            found, length = _of_word(words, place), 1
        if found:
            yield _changed(found, words[max(0, place - _REACH) : place])
        place += length


def _of_word(words: Sequence[str], place: int) -> float:
    word = words[place]
    if place and words[place - 1] == "too" and (word in _OF_MEASURE or word not in WORDS):
        return -1.0 if word in _OF_MEASURE or word.endswith("y") else 0.0
    if word in _NEGATORS or word in _STRONGER or word in _WEAKER:
        return 0.0
    if word == "pretty" and place + 1 < len(words) and words[place + 1] not in ("and", "place"):
        return 0.0  # an adverb before an adjective
    joined = word.replace("-", "")
    return next((WORDS[form] for form in (word, joined, folded(joined)) if form in WORDS), 0.0)


def _changed(found: float, before: Sequence[str]) -> float:
    """A strength after the words before it: very good, a bit slow, not bad, could be better."""
    near = before[-2:]
    if any(word in _STRONGER for word in near):
        found *= 1.4
    elif any(word in _WEAKER for word in near):
        found *= 0.7
    negated = sum(word in _NEGATORS for word in before) - _only(before)
    if negated % 2:
        found *= _TURNED
    elif found > 0 and any(word in _UNREAL for word in before):
        found *= -0.5
    return found


def _only(before: Sequence[str]) -> int:
    """Negators that negate nothing: not only."""
    return sum(first == "not" and second in ("only", "just") for first, second in pairwise(before))
