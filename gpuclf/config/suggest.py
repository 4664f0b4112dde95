"""Unknown keys: what they were probably meant to be, and where they belong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from pydantic import BaseModel

from gpuclf.config.compose import EXTENDS
from gpuclf.config.schema import Data, all_keys, chosen, fields_of, spec_at, type_names, value_at
from gpuclf.config.tree import KeyPath, key_text
from gpuclf.faults import UserFault

CUTOFF = 0.7  # of difflib's ratio: l_2 ~ l2, lerning_rate ~ learning_rate, epochs ~ max_epochs


def unknown_key(root: type[BaseModel], data: Data, path: KeyPath, written: str | None = None) -> list[UserFault]:
    """The faults of a key that is not in the schema, and of what stands below it.

    `written`: how the key is written where that is not its own path, as inside `grid`.
    """
    name, parent = str(path[-1]), path[:-1]
    where = f"in section {key_text(parent)}" if parent else "at the top level"
    key = written or key_text(path)
    spec = spec_at(root, data, parent)
    section = chosen(spec, value_at(data, parent)) if spec is not None else None
    if spec is not None and section is not None:
        others = [other for other in spec.sections if other is not section and name in other.model_fields]
        if others:
            same = [key_text(other) for other in all_keys(root, data) if other[:-1] != parent and other[-1] == name]
            return [_not_of_this_type(path, key, section, others, same[:2])]
    names = list(fields_of(section)) if section is not None else []
    if not parent:
        names.append(EXTENDS)
    candidates = _candidates(root, data, parent, name, names)
    remedy = f"did you mean {' or '.join(candidates)}?" if candidates else _elsewhere(root, name)
    remedy = remedy or f"{where} there is: {', '.join(names)}"
    if "." in name and spec_at(root, data, (*parent, *name.split("."))) is not None:
        remedy = f"write it as {_nested(name)}; only inside grid are keys written with dots"
    faults = [UserFault(f"there is no key '{name}' {where}", key=key, remedy=remedy)]
    return faults + list(_below_unknown(root, data, path, close(name, names)))


def close(name: object, names: list[str]) -> str | None:
    """The nearest of some names, if any is near."""
    by_lower = {candidate.lower(): candidate for candidate in names}
    match = get_close_matches(str(name).lower(), list(by_lower), 1, CUTOFF)
    return by_lower[match[0]] if match else None


def _candidates(root: type[BaseModel], data: Data, parent: KeyPath, name: str, names: list[str]) -> list[str]:
    """Full names of keys that may be meant: near ones of this section, then the same or a near name elsewhere."""
    here = close(name, names)
    found = [key_text((*parent, here))] if here is not None else []
    elsewhere = [path for path in all_keys(root, data) if path[:-1] != parent]
    same = [key_text(path) for path in elsewhere if str(path[-1]) == name]
    if same:
        return [*found, *same[:2]]
    found = found or [key_text((*parent, other)) for other in _of_its_words(name, names)]
    if found:
        return found
    others = list(dict.fromkeys(str(path[-1]) for path in elsewhere))
    near = close(name, sorted(others)) or next(iter(_of_its_words(name, others)), None)
    return [key_text(path) for path in elsewhere if path[-1] == near][:2] if near is not None else []


def _of_its_words(name: str, names: list[str]) -> list[str]:
    """The longest of the names that are some of this name's words, or the one whose first letters it is: batch_size ~
    batch, lr ~ learning_rate, whose ratios are below CUTOFF. Not `type`, which is a word of much else."""
    words = set(name.lower().split("_"))
    inside = [other for other in names if words.issuperset(other.lower().split("_")) and other != "type"]
    letters = [other for other in names if "_" in other and "".join(word[:1] for word in other.split("_")) == name]
    return sorted(inside, key=len)[-1:] or letters[:1]


def _elsewhere(root: type[BaseModel], name: str) -> str | None:
    """Where a key of this name belongs if other components were chosen."""
    for path in all_keys(root, {}):
        spec = spec_at(root, {}, path[:-1])
        if path[-1] == name and spec is not None and len(spec.sections) > 1:
            types = [kind for section in spec.sections if name in section.model_fields for kind in type_names(section)]
            return f"{key_text(path)} is an option of {key_text(path[:-1])}.type {', '.join(types)}"
    return None


def _not_of_this_type(
    path: KeyPath, key: str, section: type[BaseModel], others: list[type[BaseModel]], same: list[str]
) -> UserFault:
    """same: keys of that name elsewhere."""
    parent = key_text(path[:-1])
    here = " or ".join(type_names(section))
    there = ", ".join(name for other in others for name in type_names(other))
    remedy = f"remove it (on the command line: ~{key}) or choose another {parent}.type"
    if same:
        remedy = f"did you mean {' or '.join(same)}? Else {remedy}"
    return UserFault(f"does not apply to {parent}.type {here}; it is an option of {there}", key=key, remedy=remedy)


def _below_unknown(root: type[BaseModel], data: Data, path: KeyPath, meant: str | None) -> Iterator[UserFault]:
    """Keys inside an unknown section: they would be lost with it, so each is named with its likely place."""
    inside = value_at(data, path)
    if not isinstance(inside, Mapping):
        return
    spec = spec_at(root, data, (*path[:-1], meant)) if meant is not None else None
    section = chosen(spec, inside) if spec is not None else None
    for name, value in inside.items():
        if section is not None and name in section.model_fields:
            continue
        candidates = _candidates(root, data, path, str(name), [])
        remedy = f"did you mean {' or '.join(candidates)}?" if candidates else None
        message = f"stands in '{path[-1]}', which is no section, and no section has such a key"
        if candidates:
            message = f"stands in '{path[-1]}', which is no section"
        yield UserFault(message, key=key_text((*path, name)), remedy=remedy)
        if isinstance(value, Mapping):
            yield from _below_unknown(root, data, (*path, name), None)


def _nested(name: str) -> str:
    *sections, last = name.split(".")
    return "".join(f"{section}: {{" for section in sections) + f"{last}: …" + "}" * len(sections)
