"""`extends: other.yaml`: a config that builds on another one.

The name is relative to the file that says it. Chains are followed; mappings merge at every depth, lists and single
values are replaced, the extending file wins. A section of another `type` is merged like any other: keys that its
component does not have are refused by the validation, never dropped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpuclf.config.interpolate import interpolate
from gpuclf.config.tree import Item, merge, plain
from gpuclf.config.yaml_file import read_yaml
from gpuclf.data.paths import resolve_path
from gpuclf.faults import UserFault

EXTENDS = "extends"


def read_composed(path: Path) -> Item:
    """The file with all that it extends, one tree, without the key `extends`."""
    return _read(path, path, ())


def _read(path: Path, shown: Path, chain: tuple[Path, ...]) -> Item:
    real = path.resolve()
    root = read_yaml(path, shown)
    assert isinstance(root.value, dict), "a config file is a mapping"
    if EXTENDS not in root.value:
        return root
    written = root.value[EXTENDS]
    own = replace(root, value={key: child for key, child in root.value.items() if key != EXTENDS})
    parent = _parent(written)
    try:
        if parent.resolve() in (*chain, real):
            names = " → ".join(str(step) for step in (*chain, real, parent.resolve()))
            raise UserFault(f"these files extend each other in a circle: {names}")
        below = _read(parent, parent, (*chain, real))
    except UserFault as fault:
        if fault.file is None:
            raise _at(written, fault.message) from fault
        raise
    return merge(below, own)


def _parent(written: Item) -> Path:
    name = plain(interpolate(Item({EXTENDS: written}, written.source)))
    assert isinstance(name, dict), "interpolation keeps the shape"
    value = name[EXTENDS]
    if not isinstance(value, str) or not value:
        raise _at(written, f"{value!r} is not the name of a file", "write extends: other.yaml")
    parent = resolve_path(value)
    if not parent.is_file():
        raise _at(written, f"there is no file {value} (resolved: {parent})", "its name is relative to this file")
    return parent


def _at(written: Item, message: str, remedy: str | None = None) -> UserFault:
    source = written.source
    return UserFault(message, file=source.place, line=source.line, key=EXTENDS, remedy=remedy)
