"""From the categories that annotators gave to the aspects that are learnt, by a map of patterns."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

NONE = "NONE"  # the class of a token of no aspect
TARGET = "target"  # the category of a span that names none (aspect terms alone)

# SemEval-2016 task 5, restaurants (Pontiki et al. 2016): ENTITY#ATTRIBUTE → the labels of Sauper et al. 2010.
SEMEVAL_RESTAURANTS: dict[str, str] = {
    "*#PRICES": "value",
    "FOOD#*": "food",
    "DRINKS#*": "food",
    "SERVICE#*": "service",
    "AMBIENCE#*": "ambiance",
    "LOCATION#*": "ambiance",
    "RESTAURANT#*": "overall",
}


class UnknownCategory(ValueError):
    """A category that the map says nothing about."""


class AspectMap:
    """The first pattern that a category fits decides; `*` stands for any characters, and the aspect NONE for no span.

    Without a map of the user's own, ENTITY#ATTRIBUTE goes by SEMEVAL_RESTAURANTS, and any other name is an aspect.
    """

    def __init__(self, given: Mapping[str, str] | None):
        self._given = given is not None
        self._patterns = dict(SEMEVAL_RESTAURANTS if given is None else given)
        self._known: dict[str, str] = {}

    def aspect(self, category: str) -> str:
        """The aspect; raises UnknownCategory with the patterns that there are."""
        found = self._known.get(category)
        if found is None:
            found = self._known[category] = self._look_up(category)
        return found

    def _look_up(self, category: str) -> str:
        if not self._given and "#" not in category:
            return category
        for pattern, aspect in self._patterns.items():
            if fnmatchcase(category, pattern):
                return aspect
        raise UnknownCategory(
            f"category {category!r} fits none of {', '.join(map(repr, self._patterns))}"
            + ("" if self._given else " (SemEval-2016 restaurants)")
        )
