"""Text from data and configs on a terminal: no control characters, no markup, no cutting off in pipes."""

from __future__ import annotations

import sys
import unicodedata
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 200


def visible(text: str, width: int | None = None) -> str:
    """The text on one line: control and format characters as escapes (a class name must not steer the terminal), cut to
    `width` characters with an ellipsis."""
    shown = "".join(c if c == " " or not _unseen(c) else c.encode("unicode_escape").decode() for c in text)
    return shown if width is None or len(shown) <= width else shown[: width - 1] + "…"


def open_console(stream: IO[str] | None = None) -> Console:
    """A rich console that takes text literally; stdout by default. Lines in pipes and files are wide, not cut at 80."""
    from rich.console import Console

    file = sys.stdout if stream is None else stream
    width = None if file.isatty() else _PIPE_WIDTH
    return Console(file=file, markup=False, highlight=False, emoji=False, width=width)


def _unseen(char: str) -> bool:
    """Control, format (bidirectional overrides), surrogate, line and paragraph separators."""
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in "\u200c\u200d"
