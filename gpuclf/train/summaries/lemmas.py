"""Words of English folded to what their forms have in common.

Folding is by endings alone, written for reviews; it makes portion and portions, taste, tasted and tasting, friendly and
friendlier one word. What is left need not be a word (tast). A few irregular forms stand in a table.
"""

from __future__ import annotations

import re
from functools import lru_cache

# A word with its apostrophes and hyphens inside: don't, well-done; or a number.
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_VOWELS = frozenset("aeiouy")
_SHORT_STEM = re.compile(r"[^aeiouy][aeiouy][^aeiouywx]")  # after which -ing and -ed have taken an e
_SHORTEST = 3  # letters that an ending must leave
_KEPT_DOUBLE = frozenset("lsz")  # fill, miss, buzz: not doubled by an ending

_IRREGULAR = {
    form: lemma
    for lemma, forms in {
        "be": "am is are was were been being 's 're 'm",
        "have": "has had having 've",
        "do": "does did done doing",
        "go": "goes went gone going",
        "eat": "ate eaten eats eating",
        "drink": "drank drunk drinks drinking",
        "come": "came comes coming",
        "get": "got gotten gets getting",
        "make": "made makes making",
        "take": "took taken takes taking",
        "give": "gave given gives giving",
        "bring": "brought brings bringing",
        "buy": "bought buys buying",
        "pay": "paid pays paying",
        "say": "said says saying",
        "tell": "told tells telling",
        "feel": "felt feels feeling",
        "keep": "kept keeps keeping",
        "leave": "left leaves leaving",
        "sit": "sat sits sitting seated",
        "know": "knew known knows knowing",
        "find": "found finds finding",
        "break": "broke broken breaks breaking",
        "run": "ran runs running",
        "wait": "waits waited waiting",
        "good": "better best",
        "bad": "worse worst",
        "person": "people persons",
        "child": "children",
        "man": "men",
        "woman": "women",
        "knife": "knives",
        "loaf": "loaves",
        "leaf": "leaves",
        "fish": "fishes",
    }.items()
    for form in forms.split()
}


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, in order, with straight apostrophes."""
    return [word.replace("’", "'") for word in _WORD.findall(text.lower())]


@lru_cache(maxsize=1 << 16)
def folded(word: str) -> str:
    """A word in lower case without the endings of plural, possession, tense, comparison and adverb."""
    word = word.removesuffix("'s")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if not word.isalpha() or len(word) <= _SHORTEST:
        return word
    for ending in ("ies", "ied", "ily"):
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return word.removesuffix(ending) + "y"
    for ending in ("ier", "iest"):
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            word = word.removesuffix(ending) + "y"
    word = _singular(word)
    for ending in ("ingly", "edly", "ing", "ed", "ly", "est", "er"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST and _VOWELS & set(stem):
            if ending in ("er", "est") and not _compared(stem):
                continue
            return _restored(stem)
    return _without_e(word)


def lemmas(text: str) -> str:
    """The folded words of a text, parted by blanks."""
    return " ".join(map(folded, words_of(text)))


def _singular(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _compared(stem: str) -> bool:
    """Whether -er or -est is a comparison (bigger, nicest) rather than part of a noun (butter, server, dinner)."""
    return stem in _COMPARED


def _restored(stem: str) -> str:
    """What stood before an ending: stop of stopping, bak(e) of baking as bake, tast of tasting as taste."""
    if len(stem) > _SHORTEST and stem[-1] == stem[-2] and stem[-1] not in _VOWELS | _KEPT_DOUBLE:
        return stem[:-1]
    short = (
        len(stem) == _SHORTEST and stem[0] not in _VOWELS and stem[1] in _VOWELS and stem[2] not in _VOWELS | {*"wx"}
    )
    return stem + "e" if short else _without_e(stem)


def _without_e(word: str) -> str:
    """taste as what tasting leaves; a final -ee and short words (wine is not win) stay as they are."""
    return word[:-1] if len(word) > _SHORTEST + 1 and word.endswith("e") and not word.endswith("ee") else word


_ADJECTIVES = """
bigg big large larg small great cheap fast quick slow nic nice fresh warm cold hott sweet salt rich thick thin tight
loud quiet clean clear soft hard light dark bright cool short long high low old young new fine fin tast kind strong
weak smart safe saf rude rud bland moist crisp dens close clos near late lat
"""
_COMPARED = frozenset(_ADJECTIVES.split())
