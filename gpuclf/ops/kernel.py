"""How every CPU kernel is compiled: without the GIL, and kept on disk under a name that its whole source decides.

numba by itself keeps compiled code beside the source and looks only at the time and size of the file that holds the
function: after a change to a helper in another file it would go on running the old code. Here the folder's name holds a
digest of all kernel sources, so stale code is never found. NUMBA_CACHE_DIR still wins; where no folder can be written,
numba falls back to its own places.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numba

_SOURCES = Path(__file__).parent


def _cache_folder() -> str:
    digest = hashlib.sha256()
    for path in sorted(_SOURCES.rglob("*.py")):
        digest.update(path.relative_to(_SOURCES).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gpuclf", f"kernels-{digest.hexdigest()[:16]}")


_settings: Any = numba.config
if not _settings.CACHE_DIR:
    _settings.CACHE_DIR = _cache_folder()

kernel: Any = numba.njit(nogil=True, cache=True)
"""The decorator of CPU kernels. No parallel loops, no fast-math: threads and bits are the caller's to decide."""
