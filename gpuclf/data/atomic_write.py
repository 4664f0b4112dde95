"""Files appear whole or not at all: written under a temporary name, forced to disk, then renamed."""

from __future__ import annotations

import errno
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gpuclf.faults import UserFault

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{32}\.tmp(\..*)?", re.DOTALL)
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Gives a temporary path beside `path`, which replaces `path` when the block ends without an exception.

    Until then `path` keeps its old content; on an exception (also Ctrl-C) the temporary file is removed. The temporary
    name keeps the suffix of `path`. Data and folder entry are forced to disk before the block counts as ended.

    Raises: UserFault when the disk is full, the folder is missing, or writing is not allowed.
    """
    with named_faults(path):
        temporary = path.parent / f".{path.name[:100]}.{uuid.uuid4().hex}.tmp{path.suffix}"
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # the umask applies, as for any file
    try:
        with named_faults(path):
            yield temporary
            if path.exists():
                os.chmod(temporary, path.stat().st_mode & 0o7777)
            _force_to_disk(temporary)
            os.replace(temporary, path)
            _force_to_disk(path.parent)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def atomic_write(path: Path, content: bytes | str) -> None:
    """Writes `content` (text as UTF-8, line ends as they stand) to `path`, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def remove_leftovers(folder: Path) -> None:
    """Removes the temporary files in `folder` of a process that was killed; only for who alone writes there."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _TEMPORARY.fullmatch(path.name):
                path.unlink()


def no_space(error: OSError, path: object) -> UserFault | None:
    """The fault of a full disk (or quota, or file-size limit), None where the error is another one."""
    if error.errno not in _NO_SPACE:
        return None
    return UserFault(
        f"no space left to write {path}", remedy="free some space and gpuclf resume the run, or choose another run.dir"
    )


@contextmanager
def named_faults(path: Path) -> Iterator[None]:
    """Within the block, errors of writing `path` that a user can mend become UserFaults."""
    try:
        yield
    except OSError as error:
        full = no_space(error, path)
        if full is not None:
            raise full from error
        if error.errno in _NOT_ALLOWED:
            raise UserFault(f"not allowed to write {path}: {error.strerror}") from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
            raise UserFault(f"cannot write {path}: its folder does not exist") from error
        raise


def _force_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
