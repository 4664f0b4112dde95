"""One process at a time works in a run folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from gpuclf.faults import UserFault
from gpuclf.report.run_folder import RunFolder


@contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Holds the folder for the block; the lock ends with the process, however it ends."""
    with folder.overrides.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserFault("another process is working in this run folder", file=folder.path) from None
        yield
