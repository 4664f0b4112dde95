"""Orders names by their bytes; for UTF-8 that is the order of their code points."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def sort_spans(names: Tensor, name_ptr: Tensor) -> Tensor:
    """The permutation (names,) int64 that sorts distinct names by bytes, a name before its longer forms.

    names (bytes,) uint8; name_ptr (names+1,) int64; name i is names[name_ptr[i]:name_ptr[i+1]].
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(names.device.type, 'reference')}")
    return module.sort_spans(names, name_ptr)
