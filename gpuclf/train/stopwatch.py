"""Seconds by activity: read, features, train, evaluate."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Stopwatch:
    """Adds up wall-clock seconds by name; time spent in an inner block counts for the inner name only."""

    def __init__(self, seconds: dict[str, float] | None = None):
        self.seconds: dict[str, float] = {"read": 0.0, "features": 0.0, "train": 0.0, "evaluate": 0.0}
        self.seconds |= seconds or {}
        self._running: list[str] = []
        self._since = 0.0

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Time within the block counts for `name`."""
        self._switch()
        self._running.append(name)
        try:
            yield
        finally:
            self._switch()
            self._running.pop()

    def timed_items(self, name: str, items: Iterable[T]) -> Iterator[T]:
        """The items; the time to produce them counts for `name`, that of their use does not."""
        iterator = iter(items)
        while True:
            with self.timed(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def _switch(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now
