"""A config as a tree in which every value knows where it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gpuclf.config.scalars import Scalar
from gpuclf.data.paths import LocatedStr

KeyPath = tuple[str | int, ...]
Plain = dict[str, "Plain"] | list["Plain"] | tuple["Plain", ...] | Scalar


@dataclass(frozen=True)
class Source:
    """Where a key stands: a line of a file, or an override as typed. `base` is the folder of its relative paths."""

    base: Path
    file: Path | None = None
    line: int | None = None
    column: int | None = None
    override: str | None = None

    @property
    def place(self) -> Path | str | None:
        """The file, or the override, in words."""
        return self.file if self.override is None else f"override '{self.override}'"


@dataclass(frozen=True)
class Item:
    """A value and where its key (or, in a list, the element) stands. `quoted`: a text that was written in quotes."""

    value: dict[str, Item] | list[Item] | Scalar
    source: Source
    quoted: bool = False


def key_text(path: KeyPath) -> str:
    """("grid", "model.C", 1) → "grid.model.C[1]"."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def split_key(key: str) -> tuple[str, ...]:
    """The path of a dotted key. Inside `grid` the rest is one key: "grid.model.C" → ("grid", "model.C")."""
    first, dot, rest = key.partition(".")
    if not dot:
        return (first,)
    return (first, rest) if first == "grid" else (first, *rest.split("."))


def plain(item: Item) -> Plain:
    """The bare values; texts keep the folder that they are relative to, should they be paths."""
    if isinstance(item.value, dict):
        return {key: plain(child) for key, child in item.value.items()}
    if isinstance(item.value, list):
        return [plain(child) for child in item.value]
    return LocatedStr(item.value, item.source.base) if isinstance(item.value, str) else item.value


def walk(item: Item, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Item]]:
    """Every item below, parents first, each with its path."""
    yield path, item
    children: dict[str, Item] | list[Item] | None = item.value if isinstance(item.value, dict | list) else None
    if isinstance(children, dict):
        for key, child in children.items():
            yield from walk(child, (*path, key))
    elif isinstance(children, list):
        for index, child in enumerate(children):
            yield from walk(child, (*path, index))


def find(item: Item, path: KeyPath) -> Item | None:
    """The item at a path, None where there is none."""
    for part in path:
        if isinstance(item.value, dict) and part in item.value:
            item = item.value[str(part)]
        elif isinstance(item.value, list) and isinstance(part, int) and part < len(item.value):
            item = item.value[part]
        else:
            return None
    return item


def merge(below: Item | None, above: Item) -> Item:
    """`above` wins; mappings are merged key by key, at every depth, all else is replaced whole."""
    if below is None or not isinstance(below.value, dict) or not isinstance(above.value, dict):
        return above
    merged = dict(below.value)
    for key, child in above.value.items():
        merged[key] = merge(merged.get(key), child)
    return replace(above, value=merged)


def changed(item: Item, path: tuple[str, ...], change: Callable[[Item | None], Item | None], source: Source) -> Item:
    """The tree with `change` done at a path: it gets the item there (or None) and gives the new one (None removes it).

    Sections on the way that are absent or null are made, with `source` as their place. The caller has made sure
    that what stands on the way is otherwise a mapping.
    """
    children = dict(item.value) if isinstance(item.value, dict) else {}
    name, rest = path[0], path[1:]
    if rest:
        below = children.get(name)
        start = below if below is not None and isinstance(below.value, dict) else Item({}, source)
        children[name] = changed(start, rest, change, source)
    else:
        new = change(children.get(name))
        if new is None:
            children.pop(name, None)
        else:
            children[name] = new
    return replace(item, value=children)
