"""What a config may hold, read off the pydantic models: which class a section has, which values a key takes."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from gpuclf.config.tree import KeyPath

Data = Any  # plain values of a config, or a part of them


@dataclass(frozen=True)
class Spec:
    """The type of a value: the alternatives of its union, each with its constraints; null apart."""

    alternatives: tuple[tuple[Any, tuple[Any, ...]], ...]
    nullable: bool = False

    @property
    def sections(self) -> list[type[BaseModel]]:
        """The classes of section that may stand here."""
        return [kind for kind, _ in self.alternatives if isinstance(kind, type) and issubclass(kind, BaseModel)]


def spec_of(annotation: Any, metadata: Sequence[Any] = ()) -> Spec:
    """Takes Annotated, Optional and Union apart, at every depth."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return spec_of(inner, (*more, *metadata))
    if get_origin(annotation) in (Union, types.UnionType):
        parts = [spec_of(part, metadata) for part in get_args(annotation)]
        alternatives = tuple(alternative for part in parts for alternative in part.alternatives)
        return Spec(alternatives, any(part.nullable for part in parts))
    if annotation is None or annotation is type(None):
        return Spec((), nullable=True)
    return Spec(((annotation, tuple(metadata)),))


def fields_of(section: type[BaseModel]) -> dict[str, Spec]:
    """The keys of a section and what each takes."""
    return {name: spec_of(field.annotation, field.metadata) for name, field in section.model_fields.items()}


def type_names(section: type[BaseModel]) -> tuple[str, ...]:
    """The names by which `type` chooses this class; empty for sections without a choice."""
    field = section.model_fields.get("type")
    return get_args(field.annotation) if field is not None and get_origin(field.annotation) is Literal else ()


def chosen(spec: Spec, data: Data) -> type[BaseModel] | None:
    """The class of the section that stands here, by its `type` where there is a choice; None if it can't be told."""
    sections = spec.sections
    if len(sections) <= 1:
        return sections[0] if sections else None
    name = data.get("type") if isinstance(data, Mapping) else None
    return next((section for section in sections if name in type_names(section)), None)


def child(spec: Spec, data: Data, part: str | int) -> Spec | None:
    """What may stand at a key or index below; None where the schema has nothing there."""
    section = chosen(spec, data)
    if section is not None and isinstance(part, str):
        return fields_of(section).get(part)
    for kind, _ in spec.alternatives:
        arguments = get_args(kind)
        if get_origin(kind) is dict and isinstance(part, str):
            return spec_of(arguments[1])
        if get_origin(kind) in (list, set, frozenset) and isinstance(part, int):
            return spec_of(arguments[0])
        if get_origin(kind) is tuple and isinstance(part, int):
            fixed = [argument for argument in arguments if argument is not Ellipsis]
            return spec_of(fixed[min(part, len(fixed) - 1)])
    return None


def spec_at(root: type[BaseModel], data: Data, path: KeyPath) -> Spec | None:
    """What may stand at a path, given the `type`s that the data chooses; None for a key that does not exist."""
    spec: Spec | None = spec_of(root)
    for part in path:
        if spec is None:
            return None
        spec, data = child(spec, data, part), below(data, part)
    return spec


def below(data: Data, part: str | int) -> Data:
    """The value at a key or index, None where there is none."""
    if isinstance(data, Mapping):
        return data.get(part)
    if isinstance(data, list | tuple) and isinstance(part, int) and part < len(data):
        return data[part]
    return None


def copied(data: Data) -> Data:
    """The same values in new mappings and lists."""
    if isinstance(data, Mapping):
        return {key: copied(value) for key, value in data.items()}
    return [copied(value) for value in data] if isinstance(data, list) else data


def value_at(data: Data, path: KeyPath) -> Data:
    """The value at a path, None where there is none."""
    for part in path:
        data = below(data, part)
    return data


def key_path(root: type[BaseModel], data: Data, location: Sequence[str | int]) -> KeyPath:
    """pydantic's location of an error without what is no key in it: tags of unions, names of types."""
    path: list[str | int] = []
    spec: Spec | None = spec_of(root)
    tagged = False
    for part in location:
        if spec is not None and len(spec.sections) > 1 and not tagged:
            tagged = True
            continue
        known = isinstance(data, Mapping) and part in data
        in_list = isinstance(part, int) and isinstance(data, list | tuple)
        following = child(spec, data, part) if spec is not None else None
        if known or in_list or following is not None:
            path.append(part)
            spec, data, tagged = following, below(data, part), False
    return tuple(path)


def all_keys(root: type[BaseModel], data: Data, prefix: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key of every section as chosen by the data; where nothing is chosen, of every section that could be."""
    spec = spec_of(root)
    yield from _keys_below(spec, data, prefix)


def _keys_below(spec: Spec, data: Data, prefix: KeyPath) -> Iterator[KeyPath]:
    section = chosen(spec, data)
    for candidate in [section] if section is not None else spec.sections:
        for name, field in fields_of(candidate).items():
            yield (*prefix, name)
            if field.sections:
                yield from _keys_below(field, below(data, name), (*prefix, name))


_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    dict: "a mapping",
}


def describe(spec: Spec) -> str:
    """The values that are wanted, in words."""
    words = [_describe_one(kind, metadata) for kind, metadata in spec.alternatives]
    if spec.sections:
        words = [word for word in words if word != "a section"] + ["a section"]
    if spec.nullable:
        words.append("null")
    return " or ".join(dict.fromkeys(words)) or "null"


def _describe_one(kind: Any, metadata: Sequence[Any]) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return "one of " + ", ".join(str(argument) for argument in arguments)
    if origin in (list, set, frozenset):
        return f"a list, each element {describe(spec_of(arguments[0]))}"
    if origin is tuple:
        if Ellipsis in arguments:
            return f"a list, each element {describe(spec_of(arguments[0]))}"
        return f"a list of {len(arguments)}, each {describe(spec_of(arguments[0]))}"
    if origin is dict:
        return f"a mapping, each value {describe(spec_of(arguments[1]))}"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "a section"
    bounds = list(_constraints(metadata))
    word = _KINDS.get(kind, getattr(kind, "__name__", str(kind)))
    if kind is float and ("allow_inf_nan", False) in bounds:
        word = "a finite number"
    return word + _range(bounds)


def choices(spec: Spec) -> list[str]:
    """The words that a key may hold, where it takes certain words only."""
    return [str(name) for kind, _ in spec.alternatives if get_origin(kind) is Literal for name in get_args(kind)]


def _range(bounds: Sequence[tuple[str, Any]]) -> str:
    words = []
    for name, sign in (("gt", "above"), ("ge", "of at least"), ("lt", "below"), ("le", "of at most")):
        values = [value for constraint, value in bounds if constraint == name]
        words += [f"{sign} {_number(value)}" for value in values[:1]]
    return " " + " and ".join(words) if words else ""


def _constraints(metadata: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) of the constraints: markers of annotated_types, pydantic's own, fields inside Annotated."""
    for item in metadata:
        if hasattr(item, "metadata") and hasattr(item, "annotation"):  # a FieldInfo inside Annotated
            yield from _constraints(item.metadata)
            continue
        for name in ("gt", "ge", "lt", "le", "allow_inf_nan"):
            if getattr(item, name, None) is not None:
                yield name, getattr(item, name)


def _number(value: Any) -> str:
    power_of_two = isinstance(value, int) and value > 2**31 and value.bit_count() == 1
    return f"2^{value.bit_length() - 1}" if power_of_two else f"{value}"
