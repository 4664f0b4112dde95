"""Character n-grams as byte spans of UTF-8 text."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def char_spans(
    text: Tensor, unit_ptr: Tensor, shortest: int, longest: int, keep_short: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """All n-grams of shortest..longest characters in every unit (a document or a word), by length, then left to right.

    text (bytes,) uint8, UTF-8; unit_ptr (units+1,) int64. A unit shorter than n has no n-gram of that length; with
    keep_short, a unit not longer than n is taken once, whole, and its longer lengths are passed over, as
    scikit-learn's char_wb does.
    Returns starts, ends (spans,) int64 and span_ptr (units+1,) int64.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(text.device.type, 'reference')}")
    return module.char_spans(text, unit_ptr, shortest, longest, keep_short)
