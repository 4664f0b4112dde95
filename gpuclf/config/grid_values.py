"""The `grid` section: its keys must be options that may vary, and every element must be a value of its option."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gpuclf.config.schema import Data, copied, spec_at, value_at
from gpuclf.config.suggest import unknown_key
from gpuclf.config.tree import Item, KeyPath, find, key_text
from gpuclf.config.validate import kind_of, show, validate
from gpuclf.data.paths import portable
from gpuclf.faults import UserFault

VARYING = ("model", "features", "train")  # sections whose options a grid may vary, beside the seed
SAME_FOR_ALL = frozenset({"threads", "memory_budget", "time_budget", "checkpoint_every", "checkpoint_seconds"})


@dataclass(frozen=True)
class Grid:
    """values: the elements, converted as their options want them, of the keys without fault."""

    values: dict[str, list[Any]]
    faults: list[UserFault]


def check_grid(root: type[BaseModel], data: Data, raw: Mapping[str, Any], tree: Item) -> Grid:
    """Checks the grid `raw` over sound data (no fault elsewhere). `tree` tells what was written in quotes."""
    base = {key: value for key, value in data.items() if key != "grid"}
    # Options are judged under every component that the grid chooses, unless that is at fault itself.
    contexts = [context for context in _contexts(base, _types_in(raw)) if validate(root, context).options is not None]
    contexts = contexts or [base]
    faults: list[UserFault] = []
    lists: dict[str, list[Any]] = {}
    for key, elements in raw.items():
        found = _key_fault(root, [base] if key.endswith(".type") else contexts, key, elements)
        if found is not None:
            faults.append(found)
        else:
            lists[key] = elements
    values: dict[str, list[Any]] = {}
    for key, elements in lists.items():
        checked, bad = _elements(root, [base] if key.endswith(".type") else contexts, key, elements, tree)
        faults += bad
        if not bad:
            values[key] = checked
    return Grid(values, faults)


def _types_in(raw: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {key: elements for key, elements in raw.items() if key.endswith(".type") and isinstance(elements, list)}


def _contexts(base: Data, types: dict[str, list[Any]]) -> Iterator[Data]:
    """The data under every combination of the components that the grid chooses; without any, the data as they are."""
    for names in itertools.product(*types.values()):
        changed = copied(base)
        for key, name in zip(types, names, strict=True):
            _set(changed, tuple(key.split(".")), name)
        yield changed


def _key_fault(root: type[BaseModel], contexts: list[Data], key: str, elements: Any) -> UserFault | None:
    path = tuple(key.split("."))
    full = key_text(("grid", key))
    # A section that is off (null) still has keys; an option must exist for every component that the grid chooses.
    missing = [context for context in contexts if spec_at(root, context, path) is None]
    if missing:
        known_parents = [depth for depth in range(len(path)) if spec_at(root, missing[0], path[:depth]) is not None]
        fault = unknown_key(root, missing[0], path[: known_parents[-1] + 1], full)[0]
        return UserFault(fault.message, key=full, remedy=fault.remedy)
    if key != "seed" and (path[0] not in VARYING or (path[0] == "train" and path[-1] in SAME_FOR_ALL)):
        allowed = ", ".join(f"{section}.…" for section in VARYING)
        return UserFault(f"{key} is the same for a whole experiment", key=full, remedy=f"a grid varies seed, {allowed}")
    if len(path) == 1 and key != "seed":
        return UserFault("a whole section cannot be listed", key=full, remedy=f"list its options: {key}.NAME: […]")
    if not isinstance(elements, list):
        remedy = f"write {key}: [{show(elements)}]" if not isinstance(elements, dict) else f"write {key}.NAME: […]"
        return UserFault(f"is {kind_of(elements)}; wanted: a list of the values to try", key=full, remedy=remedy)
    return UserFault("the list is empty", key=full, remedy="list the values to try") if not elements else None


def _elements(
    root: type[BaseModel], contexts: list[Data], key: str, elements: list[Any], tree: Item
) -> tuple[list[Any], list[UserFault]]:
    """The elements of one key, converted, and the faults of each under any context."""
    path = tuple(key.split("."))
    values: list[Any] = []
    faults: list[UserFault] = []
    seen: dict[str, int] = {}
    for index, element in enumerate(elements):
        place = key_text(("grid", key, index))
        bad: list[UserFault] = []
        converted, shown = element, element
        for context in contexts:
            changed = copied(context)
            _set(changed, path, element)
            outcome = validate(root, changed, _with(tree, path, find(tree, ("grid", key, index))))
            bad += [_as_element(fault, key, place, element) for fault in outcome.faults]
            if outcome.options is not None:
                shown = _option(outcome.options, path)
                converted = portable(shown) if isinstance(shown, Path) else value_at(outcome.sound, path)
        faults += list({str(fault): fault for fault in bad}.values())
        name = repr(shown)
        if not bad and name in seen:
            faults.append(
                UserFault(
                    f"{show(element)} stands in the list already, as element {seen[name]}",
                    key=place,
                    remedy="list every value once",
                )
            )
        seen.setdefault(name, index)
        values.append(_bare(converted))
    return values, faults


def _bare(value: Any) -> Any:
    """Plain values for good: a text that knows its folder has served its purpose."""
    if isinstance(value, list | tuple):
        return [_bare(element) for element in value]
    if isinstance(value, Mapping):
        return {str(key): _bare(element) for key, element in value.items()}
    return str(value) if isinstance(value, str) else value


def _as_element(fault: UserFault, key: str, place: str, element: Any) -> UserFault:
    """A fault of the changed data as one of the element that was put there."""
    inside = fault.key or ""
    same = inside == key
    message = fault.message if same else f"with {key} = {show(element)}, {inside}: {fault.message}"
    return UserFault(message, key=place, remedy=fault.remedy)


def _option(options: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        options = getattr(options, part)
    return options


def _set(data: Data, path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        if not isinstance(data.get(part), dict):
            data[part] = {}
        data = data[part]
    data[path[-1]] = value


def _with(tree: Item, path: KeyPath, item: Item | None) -> Item | None:
    """A tree in which `item` stands at `path`, so that the element's quotes are seen there."""
    if item is None:
        return tree
    for part in reversed(path):
        item = Item({str(part): item}, item.source)
    return item
