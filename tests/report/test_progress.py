from __future__ import annotations

import io

import pytest

from gpuclf.report.progress import Progress, duration


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_file_gets_a_line_now_and_then_and_the_last() -> None:
    stream, clock = io.StringIO(), _Clock()
    with Progress("grid, 120 models", stream=stream, every_seconds=10, clock=clock) as progress:
        for step in range(1, 101):
            progress.update(step, 100, docs_per_second=12345.6, replicas=120)
            clock.now += 0.3
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4  # at 0 s, 10.2 s, 20.4 s, and the end
    assert lines[0] == "grid, 120 models: epoch 1/100, 12,346 docs/s × 120 models"
    assert lines[1] == "grid, 120 models: epoch 35/100, 12,346 docs/s × 120 models, 20 s left"
    assert lines[-1] == "grid, 120 models: epoch 100/100, 12,346 docs/s × 120 models"
    assert "\x1b" not in stream.getvalue()


def test_the_pace_of_a_resumed_run_counts_from_where_it_resumed() -> None:
    stream, clock = io.StringIO(), _Clock()
    progress = Progress("x", unit="sweep", stream=stream, every_seconds=0, clock=clock)
    progress.update(90, 100)
    clock.now = 20.0
    progress.update(92, 100, note="2 stopped")
    progress.close()
    assert stream.getvalue().splitlines() == ["x: sweep 90/100", "x: sweep 92/100, 1:20 min left, 2 stopped"]


def test_nothing_is_said_without_an_update() -> None:
    stream = io.StringIO()
    Progress("x", stream=stream).close()
    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    stream = _Terminal()
    with Progress("[grid]", stream=stream) as progress:
        progress.update(1, 4, docs_per_second=1000.0, replicas=1)
        progress.update(4, 4, docs_per_second=1000.0, replicas=1)
    assert "[grid]" in stream.getvalue()
    assert "epoch 4/4" in stream.getvalue()
    assert "1,000 docs/s" in stream.getvalue()


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = _Terminal()
    with Progress("x", stream=stream) as progress:
        progress.update(1, 2)
    assert stream.getvalue() == "x: epoch 1/2\n"


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.6, "1:00 min"), (185, "3:05 min"), (7800, "2:10 h")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
