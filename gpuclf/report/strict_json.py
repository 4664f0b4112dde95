"""JSON that every reader accepts: no NaN or Infinity literals; they are the strings "nan", "inf" and "-inf"."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(value: Any) -> Any:
    """The value as JSON types; numpy and torch numbers become Python's, non-finite numbers their words."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def dump(value: Any, *, indent: int | None = None) -> bytes:
    """UTF-8 JSON. Characters that UTF-8 cannot hold (lone surrogates of a strange file name) become \\u escapes."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return text.encode("utf-8", errors="backslashreplace")


def number(value: Any) -> float | None:
    """A figure as a float, also from its word; None when it is no number (text, list, truth value, null)."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return _WORDS.get(value)
    return float(value) if isinstance(value, int | float) else None
