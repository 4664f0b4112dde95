"""How every CPU kernel is compiled: without the GIL, and kept on disk under a name that its whole source decides.

numba by itself keeps compiled code beside the source and looks only at the time and size of the file that holds the
function: after a change to a helper in another file it would go on running the old code. Here the folder's name holds a
digest of the kernel's file and of all files of `ops` that it imports, directly or not, so stale code is never found.
NUMBA_CACHE_DIR still wins; where no folder can be written, numba falls back to its own places.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

_SOURCES = Path(__file__).parent
_PREFIX = "gpuclf.ops"
_IMPORT = re.compile(rf"^\s*(?:from {_PREFIX}(?:\.([\w.]+))? import \(?([^)]*?)\)?$|import {_PREFIX}\.([\w.]+))", re.M)
_settings: Any = numba.config


def inner_kernel(function: Callable[..., Any]) -> Any:
    """The decorator of what kernels call often: it may not allocate nor give back an array, and so does not count
    references. (Every array of a tuple that is passed would be counted up and down, with a lock, in each call.)"""
    return _compiled(function, _nrt=False)


def kernel(function: Callable[..., Any]) -> Any:
    """The decorator of CPU kernels. No parallel loops, no fast-math: threads and bits are the caller's to decide."""
    return _compiled(function)


def _compiled(function: Callable[..., Any], **flags: Any) -> Any:
    given = _settings.CACHE_DIR
    file = sys.modules[function.__module__].__file__
    if not given and file is not None:
        _settings.CACHE_DIR = cache_folder(Path(file))
    try:
        return numba.njit(nogil=True, cache=True, **flags)(function)  # settles here where compiled code will lie
    finally:
        _settings.CACHE_DIR = given


def cache_folder(file: Path) -> str:
    """Where the compiled kernels of a source file lie."""
    digest = hashlib.sha256()
    for path in sorted(sources_of(file)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gpuclf", f"kernels-{digest.hexdigest()[:16]}")


def sources_of(file: Path) -> set[Path]:
    """The file, and the files of `ops` that it imports, directly or not."""
    found: set[Path] = set()
    waiting = {file}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= _imported(path) - found
    return found


@cache
def _imported(file: Path) -> frozenset[Path]:
    modules: set[str] = set()
    for within, names, whole in _IMPORT.findall(file.read_text(encoding="utf-8")):
        modules.add(within or whole)
        modules |= {f"{within}.{name.split()[0]}".strip(".") for name in names.split(",") if name.split()}
    places = [_SOURCES.joinpath(*module.split(".")) for module in modules if module]
    files = [place.with_suffix(".py") for place in places] + [place / "__init__.py" for place in places]
    return frozenset(path for path in files if path.is_file())
