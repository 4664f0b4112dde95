"""Records of tensors with a replica axis: choose replicas, put replicas back, flatten for a file.

A state or predictor is a frozen dataclass of tensors, plain numbers, and nested such records. A tensor field that has
one entry a replica is declared with `replica_field(axis)`; the functions here then work for every learner, and nothing
else needs to know a learner's fields.
"""

from __future__ import annotations

from dataclasses import field, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

RecordT = TypeVar("RecordT")
_AXIS = "replica_axis"


def replica_field(axis: int = 0, *, optional: bool = False) -> Any:
    """A dataclass field whose tensor has the replicas on `axis`; an optional one may be None, its default."""
    return field(default=None, metadata={_AXIS: axis}) if optional else field(metadata={_AXIS: axis})


def take_replicas(record: RecordT, index: Tensor) -> RecordT:
    """The same record for the replicas in `index` (int64), in that order. Tensors are copied, never views."""
    changes: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        if isinstance(value, Tensor) and _AXIS in item.metadata:
            changes[item.name] = value.index_select(item.metadata[_AXIS], index.to(value.device))
        elif is_dataclass(value) and not isinstance(value, type):
            changes[item.name] = take_replicas(value, index)
    return replace(record, **changes)  # type: ignore[type-var]


def put_replicas(record: RecordT, index: Tensor, source: RecordT) -> RecordT:
    """A copy of `record` in which the replicas `index` are those of `source`, in its order."""
    changes: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]
        old, new = getattr(record, item.name), getattr(source, item.name)
        if isinstance(old, Tensor) and _AXIS in item.metadata:
            changes[item.name] = old.index_copy(item.metadata[_AXIS], index.to(old.device), new)
        elif is_dataclass(old) and not isinstance(old, type):
            changes[item.name] = put_replicas(old, index, new)
    return replace(record, **changes)  # type: ignore[type-var]


def flatten(record: Any, prefix: str = "") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors and plain values of a record by dotted name, for safetensors and JSON. `restore` is the inverse."""
    tensors: dict[str, Tensor] = {}
    values: dict[str, Any] = {}
    for item in fields(record):
        name, value = f"{prefix}{item.name}", getattr(record, item.name)
        if isinstance(value, Tensor):
            tensors[name] = value.detach().cpu().contiguous()
        elif is_dataclass(value) and not isinstance(value, type):
            inner_tensors, inner_values = flatten(value, f"{name}.")
            tensors |= inner_tensors
            values |= inner_values
        else:
            values[name] = value
    return tensors, values


def restore(template: RecordT, tensors: dict[str, Tensor], values: dict[str, Any], prefix: str = "") -> RecordT:
    """A record shaped like `template`, filled from what `flatten` gave, on the template's devices."""
    changes: dict[str, Any] = {}
    for item in fields(template):  # type: ignore[arg-type]
        name, old = f"{prefix}{item.name}", getattr(template, item.name)
        if name in tensors:
            device = old.device if isinstance(old, Tensor) else torch.device("cpu")
            changes[item.name] = tensors[name].to(device)
        elif is_dataclass(old) and not isinstance(old, type):
            changes[item.name] = restore(old, tensors, values, f"{name}.")
        else:
            changes[item.name] = values[name]
    return replace(template, **changes)  # type: ignore[type-var]
