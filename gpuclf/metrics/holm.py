"""Holm's correction: several tests at once, and still at most `alpha` chance of a single false alarm."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values in the order given: the i-th smallest of m (from 0) times m - i, never falling, at most 1.

    Holm 1979 (Scand. J. Statist. 6:65). What is below alpha afterwards is significant for the family as a whole.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted
