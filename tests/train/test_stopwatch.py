"""Seconds are counted once, for the innermost block."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuclf.train import stopwatch
from gpuclf.train.stopwatch import Stopwatch


def test_inner_time_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: next(clock))
    watch = Stopwatch({"train": 10.0})
    with watch.timed("train"), watch.timed("evaluate"):
        pass
    assert watch.seconds == {"read": 0.0, "features": 0.0, "train": 10 + 1 + 4, "evaluate": 2.0}


def test_the_time_to_produce_items_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now[0])

    def items() -> Iterator[int]:
        for item in range(3):
            now[0] += 2
            yield item

    watch = Stopwatch()
    with watch.timed("features"):
        for _ in watch.timed_items("read", items()):
            now[0] += 5
    assert watch.seconds["read"] == 6
    assert watch.seconds["features"] == 15
