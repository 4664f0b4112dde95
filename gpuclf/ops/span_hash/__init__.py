"""64-bit hashes of byte spans: FNV-1a, then the splitmix64 finaliser. The same bits on every device and machine."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def span_hashes(text: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Hash of every span text[starts[i]:ends[i]].

    text (bytes,) uint8; starts, ends (spans,) int64. Returns (spans,) int64, uniform over all values.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(text.device.type, 'reference')}")
    return module.span_hashes(text, starts, ends)
