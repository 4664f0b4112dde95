"""File names of pages from the names of businesses."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_LONGEST = 60
_TAKEN = {"index", "summary"}


def page_names(businesses: Iterable[str]) -> dict[str, str]:
    """blue-ribbon-sushi.html for Blue Ribbon Sushi: ASCII letters and digits, none twice whatever the case."""
    taken = set(_TAKEN)
    names: dict[str, str] = {}
    for business in businesses:
        plain = unicodedata.normalize("NFKD", business).encode("ascii", "ignore").decode().lower()
        stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST].strip("-") or "business"
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        names[business] = f"{name}.html"
    return names
