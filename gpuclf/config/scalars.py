"""What an unquoted word means: the core schema of YAML 1.2.2 (chapter 10.3.2), for files and overrides alike.

`no`, `yes`, `on` and dates are texts, `1e-3` is a number, `010` is ten, `1_000` and `1,5` are texts.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INF = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_NAN = frozenset({".nan", ".NaN", ".NAN"})
_BARE_INF = re.compile(r"([-+]?)inf(inity)?|[-+]?nan", re.IGNORECASE)


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEX.fullmatch(text):
        return int(text[2:], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _INF.fullmatch(text):
        return float(f"{match[1]}inf")
    return float("nan") if text in _NAN else text


def bare_infinity(text: str) -> float | None:
    """What `inf` or `nan` can only mean where a number is wanted; in YAML they are texts, and .inf is the number."""
    return float(text) if _BARE_INF.fullmatch(text) else None
