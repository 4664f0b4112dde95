"""metrics.jsonl: one line per step and replica, growing; cut back to a checkpoint's position on resume."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from gpuclf.data.atomic_write import named_faults
from gpuclf.faults import UserFault
from gpuclf.report.strict_json import dump
from gpuclf.report.summary import StepRow


class MetricsLog:
    """Appends rows. Opened on an existing file it continues after the last whole line: a torn one is cut off."""

    def __init__(self, path: Path):
        self._path = path
        try:
            self._file = path.open("a+b", buffering=0)  # what cannot be written is not tried again on closing
        except OSError as error:
            raise UserFault(f"cannot be written: {error.strerror}", file=path) from error
        self._cut(_end_of_last_line(path))

    def append(self, rows: Iterable[StepRow]) -> None:
        """Writes the rows and hands them to the operating system at once, so that a person can follow the file."""
        block = b"".join(dump(row) + b"\n" for row in rows)
        with named_faults(self._path):
            while block:
                block = block[self._file.write(block) :]

    def position(self) -> int:
        """Bytes written so far; always the end of a line. A checkpoint keeps it."""
        return self._file.seek(0, os.SEEK_END)

    def sync(self) -> int:
        """Makes the rows durable (fsync) before a checkpoint refers to them; returns the position."""
        os.fsync(self._file.fileno())
        return self.position()

    def holds(self, position: int) -> bool:
        """Whether the rows before `position`, which an earlier `position()` or `sync()` gave, are all still there."""
        if position > self.position():
            return False
        self._file.seek(max(position - 1, 0))
        return position == 0 or self._file.read(1) == b"\n"

    def truncate(self, position: int) -> None:
        """Forgets everything after `position`, which an earlier `position()` or `sync()` gave."""
        size = self.position()
        if position > size:
            raise UserFault(
                f"has {size} bytes, but the checkpoint was made after {position}",
                file=self._path,
                remedy="the file was cut or replaced: bring it back, or start a new run",
            )
        self._file.seek(max(position - 1, 0))
        if position and self._file.read(1) != b"\n":
            raise UserFault(
                f"byte {position}, where the checkpoint was made, is not the end of a line",
                file=self._path,
                remedy="the file was changed: bring it back, or start a new run",
            )
        self._cut(position)

    def close(self) -> None:
        """Durable, then closed."""
        if not self._file.closed:
            self.sync()
            self._file.close()

    def __enter__(self) -> MetricsLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _cut(self, position: int) -> None:
        self._file.truncate(position)
        self._file.seek(position)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a metrics.jsonl, in order. A last line without its end (killed, or still writing) is left out."""
    with path.open("rb") as file:
        for count, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UserFault(f"is not a JSON record: {error}", file=path, line=count) from error
            yield row


def _end_of_last_line(path: Path) -> int:
    """Bytes up to and with the last line end, searched from the back."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(end - 65536, 0)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0
