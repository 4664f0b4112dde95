"""Looks byte spans up among distinct names, exactly."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def name_slots(names: Tensor, name_ptr: Tensor) -> Tensor:
    """The hash table that `find_spans` needs, made once for a set of names.

    names (bytes,) uint8; name_ptr (names+1,) int64; name i is names[name_ptr[i]:name_ptr[i+1]], all distinct.
    Returns slots (a power of two,) int64: number of the name + 1, or 0.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(names.device.type, 'reference')}")
    return module.name_slots(names, name_ptr)


def find_spans(names: Tensor, name_ptr: Tensor, slots: Tensor, text: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """Number of the name that equals each span text[starts[i]:ends[i]], or -1; (spans,) int64."""
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(names.device.type, 'reference')}")
    return module.find_spans(names, name_ptr, slots, text, starts, ends)
