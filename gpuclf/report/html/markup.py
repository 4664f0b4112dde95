"""HTML by function calls: every plain string is escaped, only what these functions made passes as it is."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from gpuclf.report.visible_text import visible

_VOID = frozenset({"meta", "br", "hr", "col"})
# Control and direction characters, and halves of characters that UTF-8 cannot hold; line feed and tab may stand.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


class Markup(str):
    """HTML source that may stand in a page."""

    __slots__ = ()


Child = str | Markup | None


def escaped(text: str) -> Markup:
    """Text from anywhere as HTML that shows it: markup means nothing in it, invisible characters are \\u escapes."""
    seen = _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return Markup(html.escape(seen, quote=True))


def joined(*children: Child, between: str = "") -> Markup:
    """The children one after the other; plain strings are escaped, None is left out."""
    parts = (child if isinstance(child, Markup) else escaped(child) for child in children if child is not None)
    return Markup(between.join(parts))


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """An element. Attributes: `class_` is class, other underscores are hyphens; None and False leave one out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def table(
    head: Iterable[Child], rows: Iterable[Iterable[Child]], *, numbers: Iterable[int] = (), **more: str
) -> Markup:
    """A table in a box that scrolls by itself when it is wide; `numbers`: columns that stand right."""
    right = frozenset(numbers)

    def line(cell: str, children: Iterable[Child]) -> Markup:
        cells = [tag(cell, child, class_="n" if place in right else None) for place, child in enumerate(children)]
        return tag("tr", *cells)

    body = tag("tbody", *(line("td", row) for row in rows))
    return tag("div", tag("table", tag("thead", line("th", head)), body, **more), class_="scroll")


def folded(summary: Child, *children: Child, opened: bool = False) -> Markup:
    """Content behind a line that opens it."""
    return tag("details", tag("summary", summary), *children, open=opened)


def name_text(name: str, width: int | None = 60) -> str:
    """A name from data on one line, in a limited width (None: whole)."""
    return visible(name, width) if name else "(empty)"


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    named = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {named}"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f' {named}="{escaped(text)}"'
