"""Copies byte spans to given places of another buffer."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def copy_spans(text: Tensor, starts: Tensor, ends: Tensor, target: Tensor, places: Tensor) -> None:
    """Writes text[starts[i]:ends[i]] to target from places[i] on; the places must not overlap.

    text, target (bytes,) uint8; starts, ends, places (spans,) int64.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(text.device.type, 'reference')}")
    module.copy_spans(text, starts, ends, target, places)
