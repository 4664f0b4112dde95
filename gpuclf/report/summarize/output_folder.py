"""A folder of files that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from gpuclf.data.atomic_write import named_faults
from gpuclf.faults import UserFault


def require_free(folder: Path) -> None:
    """Raises UserFault where anything but an empty folder stands in the way, before any work is done."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserFault("is not a folder", file=folder, remedy="give another --out")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserFault("already holds files, which are never written over", file=folder, remedy="give another --out")


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Writes all files under a temporary name beside `folder`, forces them to disk, then renames; on an exception (also
    Ctrl-C) nothing is left. An empty folder of this name is replaced."""
    require_free(folder)
    with named_faults(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = folder.parent / f".{folder.name[:100]}.{uuid.uuid4().hex}.tmp"
        temporary.mkdir()
    try:
        with named_faults(folder):
            for name, content in files:
                with (temporary / name).open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            _force_to_disk(temporary)
            _take_place(temporary, folder)
            _force_to_disk(folder.parent)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _take_place(temporary: Path, folder: Path) -> None:
    try:
        os.rename(temporary, folder)
    except OSError:
        require_free(folder)  # another process was faster
        raise


def _force_to_disk(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
