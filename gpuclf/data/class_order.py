"""The one order of the classes: sorted once, stored with the model, used everywhere by name."""

from __future__ import annotations

import re
from collections.abc import Iterable

_INTEGER = re.compile(r"-?[0-9]+")


def class_order(labels: Iterable[str]) -> tuple[str, ...]:
    """The distinct labels, by value when all are integers (equal values by code point), else by code point.

    The order never depends on which label came first in a file.
    """
    distinct = sorted(set(labels))
    if distinct and all(_INTEGER.fullmatch(label) for label in distinct):
        distinct.sort(key=int)
    return tuple(distinct)
