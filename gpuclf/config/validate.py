"""Plain values → options, or every fault of them at once.

Two liberties are taken, for files and overrides alike, because nothing else can be meant: a number without fraction
(10.0, 1e2) is taken where a whole number is wanted, and an unquoted inf where a number is wanted. Nothing else is
converted: not texts to numbers, not numbers to truth values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from gpuclf.config.scalars import bare_infinity, plain_scalar
from gpuclf.config.schema import Data, Spec, choices, copied, describe, key_path, spec_at, type_names, value_at
from gpuclf.config.suggest import close, unknown_key
from gpuclf.config.tree import Item, KeyPath, find, key_text
from gpuclf.faults import UserFault

_UNCHANGED = object()
_BAD_WORDS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
Finder = Callable[[KeyPath], Item | None]


@dataclass(frozen=True)
class Outcome:
    """options: None where faults leave none to build. `sound`: the data without its faulty keys, converted;
    `partial`: the options of the sound data, for checks that look at several keys."""

    options: Any
    faults: list[UserFault]
    sound: Data
    partial: Any


def validate(root: type[BaseModel], data: Data, tree: Item | None = None) -> Outcome:
    """Checks plain data against a model. `tree` tells which texts were written in quotes."""
    data = copied(data)
    at: Finder = (lambda path: find(tree, path)) if tree is not None else (lambda path: None)
    options, errors = _attempt(root, data, at)
    faults = _faults(root, data, errors, at)
    partial = options
    while partial is None and errors:
        if not all(_remove(data, error) for error in errors):
            break
        partial, errors = _attempt(root, data, at)
    return Outcome(options, faults, data, partial)


@dataclass(frozen=True)
class _Error:
    path: KeyPath
    kind: str
    detail: Mapping[str, Any]


def _attempt(root: type[BaseModel], data: Data, at: Finder) -> tuple[Any, list[_Error]]:
    """The options, or the errors that are left when everything that may be converted has been."""
    while True:
        try:
            return root.model_validate(data), []
        except ValidationError as failure:
            errors = [_error(root, data, error) for error in failure.errors(include_url=False)]
        converted = False
        for error in errors:
            value = value_at(data, error.path)
            new = _convert(error.kind, value, at(error.path))
            if new is not _UNCHANGED and error.path:
                value_at(data, error.path[:-1])[error.path[-1]] = new
                converted = True
        if not converted:
            return None, errors


def _error(root: type[BaseModel], data: Data, detail: Mapping[str, Any]) -> _Error:
    path = key_path(root, data, detail["loc"])
    if detail["type"] == "missing" and path and isinstance(path[-1], int):
        return _Error(path[:-1], "too_short", detail)  # a list that should have another element is wrong itself
    return _Error(path, detail["type"], detail)


def _convert(kind: str, value: Any, item: Item | None) -> Any:
    if kind == "int_type" and isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    if kind in ("float_type", "is_instance_of") and isinstance(value, str) and not (item is not None and item.quoted):
        number = bare_infinity(value)
        return _UNCHANGED if number is None else number
    if kind == "tuple_type" and isinstance(value, list):
        return tuple(value)
    if kind in ("set_type", "frozen_set_type") and isinstance(value, list):
        return set(value) if kind == "set_type" else frozenset(value)
    return _UNCHANGED


def _remove(data: Data, error: _Error) -> bool:
    """Takes the faulty key out (for a missing key: the section that lacks it); False if nothing would be left."""
    path = error.path[:-1] if error.kind == "missing" else error.path
    while path and isinstance(value_at(data, path[:-1]), list | tuple):
        path = path[:-1]  # a list without one of its elements is another list: the whole goes
    if not path:
        return False
    above = value_at(data, path[:-1])
    if isinstance(above, dict):
        above.pop(path[-1], None)
    return True


def _faults(root: type[BaseModel], data: Data, errors: list[_Error], at: Finder) -> list[UserFault]:
    """The errors in words, one fault for each key, in the order of the config."""
    groups: dict[KeyPath, list[_Error]] = {}
    for error in errors:
        groups.setdefault(error.path, []).append(error)
    deeper = {path[:depth] for path in groups for depth in range(len(path))}
    faults: list[UserFault] = []
    for path, group in groups.items():
        if path in deeper and not any(error.kind in ("extra_forbidden", "missing", "value_error") for error in group):
            continue  # another alternative of a union failed further down, which says more
        faults += _explain(root, data, path, group, at(path))
    return faults


def _explain(
    root: type[BaseModel], data: Data, path: KeyPath, group: list[_Error], item: Item | None
) -> list[UserFault]:
    kinds = {error.kind for error in group}
    key, value, spec = key_text(path), value_at(data, path), spec_at(root, data, path)
    if "extra_forbidden" in kinds:
        return unknown_key(root, data, path)
    if "missing" in kinds:
        wanted = f"give {describe(spec)}" if spec is not None else None
        if spec is not None and len(spec.sections) > 1:
            wanted = f"write {key}: {{type: …}} with one of {', '.join(_types(spec))}"
        return [UserFault("is missing", key=key, remedy=wanted)]
    if kinds & {"union_tag_invalid", "union_tag_not_found"} and spec is not None:
        return [_bad_type(key, value, _types(spec))]
    own = next((error.detail.get("ctx", {}).get("error") for error in group if error.kind == "value_error"), None)
    if own is not None:
        message, remedy = (own.message, own.remedy) if isinstance(own, UserFault) else (str(own), None)
        return [UserFault(message, key=key or None, remedy=remedy)]
    if spec is None:
        return [UserFault(f"{show(value)}: {group[0].detail['msg']}", key=key)]
    return [_bad_value(key, value, spec, kinds, item)]


def _bad_value(key: str, value: Any, spec: Spec, kinds: set[str], item: Item | None) -> UserFault:
    wanted = describe(spec)
    message = f"{show(value)} is {kind_of(value)}; wanted: {wanted}"
    remedy = None
    if isinstance(value, str):
        meant = plain_scalar(value)
        if item is not None and item.quoted and not isinstance(meant, str):
            message = f"{show(value)} is a text because of its quotes; wanted: {wanted}"
            remedy = f"write {value} without quotes"
        elif value.lower() in _BAD_WORDS and "bool_type" in kinds:
            remedy = f"write {_BAD_WORDS[value.lower()]}"
        elif "literal_error" in kinds:
            message = f"{show(value)} is not {wanted}"
            near = close(value, choices(spec))
            remedy = f"did you mean {near}?" if near else None
    elif kinds & {"too_short", "too_long"} and isinstance(value, list | tuple):
        message = f"{show(list(value))} has {len(value)} elements; wanted: {wanted}"
    elif isinstance(value, float) and math.isnan(value):
        message = f"{show(value)} is not a number; wanted: {wanted}"
    elif isinstance(value, float) and "int_type" in kinds:
        message = f"{value} is not a whole number; wanted: {wanted}"
    elif not isinstance(value, bool) and isinstance(value, int | float) and not kinds & _TYPE_KINDS:
        message = f"{show(value)} is out of range; wanted: {wanted}"
    return UserFault(message, key=key, remedy=remedy)


_TYPE_KINDS = frozenset(
    {"int_type", "float_type", "string_type", "bool_type", "list_type", "dict_type", "model_type", "tuple_type"}
)


def _bad_type(key: str, value: Any, names: list[str]) -> UserFault:
    choice = ", ".join(names)
    if not isinstance(value, Mapping):
        example = value if isinstance(value, str) and value in names else names[0]
        message = f"{show(value)} is {kind_of(value)}; wanted: a section"
        return UserFault(message, key=key, remedy=f"write {key}: {{type: {example}}}")
    if "type" not in value:
        return UserFault("is missing", key=f"{key}.type", remedy=f"choose one of {choice}")
    near = close(value["type"], names)
    remedy = f"did you mean {near}? There are {choice}" if near else f"choose one of {choice}"
    return UserFault(f"there is no {key}.type called {show(value['type'])}", key=f"{key}.type", remedy=remedy)


def _types(spec: Any) -> list[str]:
    return [name for section in spec.sections for name in type_names(section)]


def show(value: Any) -> str:
    """A value as it would be written in a config, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:76]} …"


def kind_of(value: Any) -> str:
    """What sort of value this is, in words."""
    if value is None:
        return "no value"
    if isinstance(value, bool):
        return "a truth value"
    names = (
        (int, "a whole number"),
        (float, "a number"),
        (str, "a text"),
        (Mapping, "a section"),
        (list | tuple, "a list"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)
