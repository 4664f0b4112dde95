"""How far a long job is: a bar on a terminal, a line now and then in a log file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING

from gpuclf.report.visible_text import open_console, visible

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class Progress:
    """Shows done/total, rate and time left, on stderr unless told otherwise.

    In a terminal: one bar that is redrawn. Elsewhere: plain lines, the first at once, then at most one every
    `every_seconds`, and the last. Use as a context manager, or call close().
    """

    def __init__(
        self,
        title: str,
        *,
        unit: str = "epoch",
        stream: IO[str] | None = None,
        every_seconds: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._title = visible(title)
        self._unit = unit
        self._stream = sys.stderr if stream is None else stream
        self._every = every_seconds
        self._clock = clock
        self._begin: tuple[float, float] | None = None  # time and done at the first update: a resumed run starts late
        self._printed = -float("inf")
        self._line = ""
        self._unprinted = False
        self._bar: tuple[RichProgress, TaskID] | None = None

    def update(
        self,
        done: float,
        total: float,
        *,
        docs_per_second: float | None = None,
        replicas: int | None = None,
        note: str = "",
    ) -> None:
        """`done` of `total` units (epochs, sweeps) are over; `docs_per_second` of one replica; `note`: a few words."""
        now = self._clock()
        if self._begin is None:
            self._begin = (now, done)
        left = _left(now - self._begin[0], done - self._begin[1], total - done)
        facts = [_rate(docs_per_second, replicas), left, note]
        text = ", ".join(fact for fact in facts if fact)
        self._line = f"{self._title}: {self._unit} {done:g}/{total:g}" + (f", {text}" if text else "")
        if _is_terminal(self._stream):
            self._redraw(done, total, text)
            return
        self._unprinted = True
        if now - self._printed >= self._every:
            self._print(now)

    def close(self) -> None:
        """Leaves the last state on the screen or in the log."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None
        elif self._unprinted:
            self._print(self._clock())

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _print(self, now: float) -> None:
        print(self._line, file=self._stream, flush=True)
        self._printed, self._unprinted = now, False

    def _redraw(self, done: float, total: float, text: str) -> None:
        if self._bar is None:
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as RichProgress

            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TextColumn(f"{self._unit} {{task.completed:g}}/{{task.total:g}}", markup=False),
                TextColumn("{task.fields[text]}", markup=False),
            )
            bar = RichProgress(
                *columns, console=open_console(self._stream), redirect_stdout=False, redirect_stderr=False
            )
            self._bar = (bar, bar.add_task(self._title, total=total, text=text))
            bar.start()
        bar, task = self._bar
        bar.update(task, completed=done, total=total, text=text)


def duration(seconds: float) -> str:
    """12 s, 3:05 min, 2:10 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def _is_terminal(stream: IO[str]) -> bool:
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _rate(docs_per_second: float | None, replicas: int | None) -> str:
    if docs_per_second is None:
        return ""
    text = f"{docs_per_second:,.0f} docs/s"
    return text if replicas is None or replicas == 1 else f"{text} × {replicas:,} models"


def _left(seconds: float, gained: float, missing: float) -> str:
    """Time left at the pace since the first update; nothing until there is a pace."""
    if gained <= 0 or seconds <= 0 or missing <= 0:
        return ""
    return f"{duration(seconds / gained * missing)} left"
