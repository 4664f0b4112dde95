"""Tab-separated values: one record a line, fields parted by tabs, no quoting and no escapes."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.data.intake import Intake
from gpuclf.data.readers.delimited_header import HeaderOrNot


class TsvParser:
    """Blank lines between records of several columns are passed over, and counted in a note."""

    keep_cr = False

    def __init__(self, header: HeaderOrNot, intake: Intake):
        self._header = header
        self._intake = intake
        self._blank = 0

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Splits at every tab."""
        record = self._header.record
        for line, text in enumerate(lines, first):
            if text or self._header.width == 1:
                record(line, text.split("\t"))
            else:
                self._blank += 1

    def finish(self) -> None:
        """Tells about blank lines."""
        self._header.finish()
        if self._blank:
            self._intake.note(f"{self._blank} blank lines were passed over")
