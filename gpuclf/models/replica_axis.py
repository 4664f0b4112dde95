"""Records of tensors with a replica axis: choose replicas, put replicas back, flatten for a file.

A state or predictor is a frozen dataclass of tensors, plain numbers, and nested such records. A tensor field that has
one entry a replica is declared with `replica_field(axis)`; the functions here then work for every learner, and nothing
else needs to know a learner's fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

RecordT = TypeVar("RecordT")
_AXIS = "replica_axis"
_FILL = "fill"


def replica_field(axis: int = 0, *, optional: bool = False, fill: float | None = None) -> Any:
    """A dataclass field whose tensor has the replicas on `axis`; an optional one may be None, its default.

    With `fill`, replicas may be of different size on the other axes, and the shorter are padded with it.
    """
    about = {_AXIS: axis} if fill is None else {_AXIS: axis, _FILL: fill}
    return field(default=None, metadata=about) if optional else field(metadata=about)


def padded_like(tensors: Sequence[Tensor], fill: float, from_axis: int = 0) -> list[Tensor]:
    """The tensors, each padded with `fill` to the largest size among them on every axis from `from_axis` on."""
    shape = [max(sizes) for sizes in zip(*(t.shape for t in tensors), strict=True)]
    out = []
    for tensor in tensors:
        wanted = [*tensor.shape[:from_axis], *shape[from_axis:]]
        made = tensor.new_full(wanted, fill)
        made[tuple(slice(0, size) for size in tensor.shape)] = tensor
        out.append(made)
    return out


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
            if _FILL in item.metadata and old.shape[1:] != new.shape[1:]:
                assert item.metadata[_AXIS] == 0, "replicas of different size lead"
                old, new = padded_like([old, new], item.metadata[_FILL], from_axis=1)
            changes[item.name] = old.index_copy(item.metadata[_AXIS], index.to(old.device), new)
        elif is_dataclass(old) and not isinstance(old, type):
            changes[item.name] = put_replicas(old, index, new)
    return replace(record, **changes)  # type: ignore[type-var]


def merged_parts(record: RecordT) -> RecordT:
    """A record whose replicas have parts, on the axis behind theirs, as one of replicas × parts; in the same memory."""
    return _reshaped(record, lambda tensor, axis: tensor.flatten(axis, axis + 1))


def parted(record: RecordT, parts: int) -> RecordT:
    """The inverse of `merged_parts`: each replica has `parts` of the record's."""
    return _reshaped(record, lambda tensor, axis: tensor.unflatten(axis, (-1, parts)))


def part_of(record: RecordT, part: int) -> RecordT:
    """One part of replicas that have parts."""
    return _reshaped(record, lambda tensor, axis: tensor.select(axis + 1, part))


def _reshaped(record: RecordT, change: Callable[[Tensor, int], Tensor]) -> RecordT:
    changes: dict[str, Any] = {}
    for item in fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        if isinstance(value, Tensor) and _AXIS in item.metadata:
            changes[item.name] = change(value, item.metadata[_AXIS])
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
