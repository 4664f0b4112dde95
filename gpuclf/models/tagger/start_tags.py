"""Tags to begin with, from a file of an earlier induction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from gpuclf.data.paths import require_file
from gpuclf.faults import UserFault

_KEY = "model.init"
_TAG = re.compile(r"T?(\d+)", re.ASCII)
_ESCAPE = re.compile(r"\\([\\tnr])")  # as a run writes a backslash, tabulator or line end inside a word
_MEANT = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}


def read_start_tags(path: Path, type_names: Sequence[str], num_tags: int) -> tuple[int, ...]:
    """The tag of each type, -1 for a type that the file does not have.

    A TSV as a run writes it (tags.tsv): a word type and its tag, T7 or 7, a line; further cells are free, a first line
    `type<TAB>tag` is a header. Types of the file that the text does not have are passed over.
    """
    require_file(path, key=_KEY)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise UserFault(f"cannot read the tags: {error.strerror}", file=path, key=_KEY) from error
    except UnicodeDecodeError as error:
        raise UserFault("the tags are not UTF-8 text", file=path, key=_KEY, remedy="save the file as UTF-8") from error
    known = {name: number for number, name in enumerate(type_names)}
    tags, seen = [-1] * len(type_names), set()
    for number, line in enumerate(lines, 1):
        cells = line.rstrip("\r").split("\t")
        if cells == [""] or (number == 1 and cells[:2] == ["type", "tag"]):
            continue
        name = _ESCAPE.sub(lambda found: _MEANT[found[1]], cells[0])
        tag = _tag(cells, num_tags, path, number)
        if name in seen:
            raise UserFault(f"type {name!r} has two lines", path, number, _KEY, "keep one of them")
        seen.add(name)
        if name in known:
            tags[known[name]] = tag
    if not any(tag >= 0 for tag in tags):
        raise UserFault(
            "has no word of the text", file=path, key=_KEY, remedy="give the tags.tsv of a run on such text"
        )
    return tuple(tags)


def _tag(cells: Sequence[str], num_tags: int, path: Path, line: int) -> int:
    found = _TAG.fullmatch(cells[1].strip()) if len(cells) > 1 else None
    if found is None:
        raise UserFault("is no line of a type and its tag", path, line, _KEY, "write type, tabulator, T0 or 0")
    if int(found[1]) >= num_tags:
        raise UserFault(f"tag {cells[1]} is beyond the {num_tags} tags", path, line, _KEY, "raise model.tags")
    return int(found[1])
