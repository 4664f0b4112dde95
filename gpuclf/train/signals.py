"""Interrupt and SIGTERM: the running step is finished, a checkpoint written, and the process ends with 130 or 143."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_AGAIN = 0.02  # seconds until a signal whose exception was lost is sent again


class Interrupted(Exception):
    """Training stopped at a checkpoint because a signal asked for it."""

    def __init__(self, number: int):
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class StopRequest:
    """Remembers the signal that asked to stop.

    Within `deferred()`, where a checkpoint can be made, the signal waits for the step to end (a second Ctrl-C does
    not wait); elsewhere nothing would be gained by waiting, and Interrupted is raised at once.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._deferring = False
        self._over = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._over:
            return
        if self.number is not None:
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            return  # the end is under way
        self.number = number
        if not self._deferring:
            raise Interrupted(number)

    def lost(self, number: int) -> None:
        """The exception that the signal raised went no further, as it may where compiled code calls back and looks at
        no errors: the signal is sent again, when the main thread will be elsewhere."""
        self.number = None
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    def over(self) -> None:
        """Everything is done: a signal that comes now changes nothing any more."""
        self._over = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Signals are only noted inside; one that nobody acted on is raised at the end."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False
        self.raise_if_requested()

    def raise_if_requested(self) -> None:
        if self.number is not None:
            raise Interrupted(self.number)


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Within the block SIGINT and SIGTERM are noted instead of ending the process."""
    request = StopRequest()
    previous = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    told = sys.unraisablehook
    sys.unraisablehook = _unraisable(request, told)
    try:
        yield request
    finally:
        sys.unraisablehook = told
        for number, handler in previous.items():
            signal.signal(number, handler)


def _unraisable(request: StopRequest, told: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The hook for exceptions that nobody can be given; `told` is the one for all but a stop."""

    def hook(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, Interrupted):
            request.lost(unraisable.exc_value.exit_code - 128)
        else:
            told(unraisable)

    return hook
