"""Feature values as they are written in files: plain decimal numbers that float32 can hold."""

from __future__ import annotations

import numpy as np

FLOAT32_MAX = float(np.finfo(np.float32).max)
# values that round to a finite float32; above it, conversion gives infinity
_LARGEST = FLOAT32_MAX * (1 + 2.0**-25)


def float32_of(text: str) -> float:
    """The number written in `text`, rounded to float32; 0.0 for numbers too small for it.

    Raises: ValueError with a reason for anything that is not a finite decimal number within float32's range.
    """
    if "_" in text or not text.isascii():  # Python's float takes 1_000 and digits of every script
        raise ValueError(f"{text!r} is not a number")
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if value != value or value in (float("inf"), float("-inf")):
        if any(c.isdigit() for c in text):
            raise ValueError(f"{text} is beyond the range of float32 (±3.4e38)")
        raise ValueError(f"{text} is not a finite number")
    if not -_LARGEST < value < _LARGEST:
        raise ValueError(f"{text} is beyond the range of float32 (±3.4e38)")
    return float(np.float32(value))
