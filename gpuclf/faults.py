"""Faults that a user can mend: one message each, with place and remedy; the commands turn them into exit code 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(eq=False)
class UserFault(ValueError):
    """Bad input: says what is wrong, where (file, line, config key) and what to do about it.

    Raised at the boundary (reading, config, commands). `key` is a dotted config key such as "model.C"; the
    config layer adds the file and line where that key stands.
    """

    message: str
    file: Path | str | None = None
    line: int | None = None
    key: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        place = str(self.file) if self.file is not None else ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        parts = [part for part in (place, self.key) if part]
        text = ": ".join([*parts, self.message])
        return f"{text}; {self.remedy}" if self.remedy else text


class UserFaults(UserFault):
    """Several faults found in one go, each on a line of its own."""

    def __init__(self, faults: Sequence[UserFault]):
        assert faults, "no fault to report"
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)
