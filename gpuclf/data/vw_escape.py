"""Vowpal Wabbit's format has no escapes: a blank, `|` or `:` in a name changes its meaning. So names are rewritten.

Reserved characters become `%` and two hexadecimal digits for each byte of UTF-8, as in URLs; `data.escaped: true`
turns them back when read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gpuclf.data.atomic_write import atomic_path
from gpuclf.faults import UserFault

_RESERVED = re.compile("[%|:^' \t\n\r\v\f\0\ufeff]")
_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def escape_vw(text: str) -> str:
    """`text` as one VW name. Raises: UserFault for the empty text, which cannot be a name."""
    if not text:
        raise UserFault("an empty feature name cannot be written in VW's format")
    return _RESERVED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def unescape_vw(name: str) -> str:
    """The text that `escape_vw` made this name of. Percent signs that no escape explains stay."""
    return _ESCAPED.sub(_unescaped, name)


def _unescaped(found: re.Match[str]) -> str:
    try:
        return bytes.fromhex(found[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return found[0]


def vw_line(label: str | None, features: Iterable[tuple[str, float]]) -> str:
    """One document as a VW line without its line end: escaped label and names; values as float32, 1 left out."""
    words = [] if label is None else [escape_vw(label)]
    words.append("|")
    for name, value in features:
        number = np.float32(value)
        if not np.isfinite(number):
            raise UserFault(f"feature {name!r} has the value {value}, which is not a finite float32")
        words.append(escape_vw(name) if number == 1 else f"{escape_vw(name)}:{number}")
    return " ".join(words)


def write_vw(path: Path, documents: Iterable[tuple[str | None, Iterable[tuple[str, float]]]]) -> None:
    """Writes (label, features) documents, whole or not at all; read them back with `data.escaped: true`.

    Labels that are no numbers need `data.named_labels: true` as well.
    """
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{vw_line(label, features)}\n" for label, features in documents)
