"""How often a document counts: a number of its own column, or VW's importance."""

from __future__ import annotations

import math

REMEDY = "write a finite number ≥ 0 (0 leaves a document out of training)"


def row_weight(text: str) -> float:
    """The weight that a cell says. ValueError with the reason for anything but a finite number ≥ 0."""
    try:
        weight = float(text)
    except ValueError:
        raise ValueError(f"the weight {text!r} (data.weight) is not a number") from None
    if not math.isfinite(weight) or "_" in text:
        raise ValueError(f"the weight {text!r} (data.weight) is not a finite number")
    if weight < 0:
        raise ValueError(f"the weight {text!r} (data.weight) is negative")
    return weight
