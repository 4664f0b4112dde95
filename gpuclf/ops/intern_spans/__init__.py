"""Numbers equal byte spans alike, exactly (bytes are compared, not only hashes)."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def intern_spans(text: Tensor, starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """Equal spans get equal ids, counted up in order of first appearance.

    text (bytes,) uint8; starts, ends (spans,) int64.
    Returns ids (spans,) int64 and first (ids,) int64: the span where each id appears first.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(text.device.type, 'reference')}")
    return module.intern_spans(text, starts, ends)
