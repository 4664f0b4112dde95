"""Paths in configs: relative to the config file they stand in, never to where the user happens to stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, PlainSerializer

from gpuclf.faults import UserFault

BUNDLED = Path(__file__).resolve().parent / "bundled"
_PREFIX = "bundled:"

if TYPE_CHECKING:
    _ConcretePath = Path
else:
    _ConcretePath = type(Path())  # PosixPath or WindowsPath: Path itself cannot be subclassed before Python 3.12


class LocatedStr(str):
    """A string that knows the folder it is relative to: the folder of the config file that holds it."""

    base: Path

    def __new__(cls, value: str, base: Path) -> LocatedStr:
        self = super().__new__(cls, value)
        self.base = base
        return self


class WrittenPath(_ConcretePath):
    """An absolute path that remembers how the user wrote it (`written`), for messages."""

    written: str


def resolve_path(value: object) -> Path:
    """The absolute path of a path as written: `bundled:NAME/FILE`, `~/…`, absolute, or relative to its base.

    A `LocatedStr` is relative to its `base`, any other string or path to the current directory. Symbolic links stay.
    """
    if isinstance(value, WrittenPath) and value.is_absolute():
        return value
    if not isinstance(value, str | Path) or str(value) == "":
        raise UserFault(f"{value!r} is not a path", remedy="write the name of a file, relative to the config file")
    if "\0" in str(value):
        raise UserFault(f"{value!r} holds a zero byte, which no file name can")
    if str(value).startswith(_PREFIX):
        path = WrittenPath(_bundled(str(value)))
    else:
        base = value.base if isinstance(value, LocatedStr) else Path.cwd()
        path = WrittenPath(_normal(base.absolute() / Path(value).expanduser()))
    path.written = str(value)
    return path


def _normal(path: Path) -> Path:
    """`path` without `.` and, where no symbolic link is involved, without `..`: what a person would expect to read."""
    if ".." not in path.parts:
        return path
    return path.parent.resolve() / path.name if path.name != ".." else path.resolve()


def _bundled(text: str) -> Path:
    path = (BUNDLED / text.removeprefix(_PREFIX)).resolve()
    if not path.is_relative_to(BUNDLED) or not path.is_file():
        known = sorted(str(p.relative_to(BUNDLED)) for p in BUNDLED.glob("*/*.gz"))
        raise UserFault(
            f"{text!r} is not bundled with gpuclf", remedy=f"bundled are {', '.join(_PREFIX + name for name in known)}"
        )
    return path


def as_written(path: Path) -> str:
    """The path as the user wrote it, where that is known."""
    return getattr(path, "written", str(path))


def portable(path: Path) -> str:
    """The text of a path in a resolved config: `bundled:…` stays as it is, all others are absolute."""
    written = as_written(path)
    return written if written.startswith(_PREFIX) else str(path)


def require_file(path: Path, *, key: str | None = None, folder: bool = False) -> Path:
    """`path` if it is a file (with `folder`, also a folder); else a fault with the path as written and as resolved."""
    if path.is_file() or (folder and path.is_dir()):
        return path
    written = as_written(path)
    resolved = "" if written == str(path) else f" (that is, {path})"
    if path.is_dir():
        raise UserFault(f"{written}{resolved} is a folder, not a file", key=key)
    if path.exists():
        raise UserFault(f"{written}{resolved} is not a regular file", key=key)
    rule = "paths in a config are relative to the config file, in overrides to the current directory"
    raise UserFault(f"no such file: {written}{resolved}", key=key, remedy=rule if resolved else None)


ConfigPath = Annotated[
    Path, BeforeValidator(resolve_path), PlainSerializer(portable, return_type=str, when_used="json")
]
