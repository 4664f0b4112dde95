"""The stopwatch of the benchmarks counts every processor second, and takes turns."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from benchmarks.measure import alternate, cpu_seconds, markdown_table, timed

BUSY = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass"


def test_turns_are_taken():
    calls: list[str] = []
    ours, ours_result, peer, peer_result = alternate(
        lambda: calls.append("ours") or len(calls), lambda: calls.append("peer") or len(calls), repeats=3
    )
    assert calls == ["ours", "peer"] * 3
    assert (ours_result, peer_result) == (5, 6)
    assert len(ours.wall) == len(peer.cpu) == 3
    assert ours.median_wall == sorted(ours.wall)[1]


def test_sleep_takes_no_processor_time():
    _, (wall, cpu) = timed(lambda: time.sleep(0.2))
    assert wall >= 0.2
    assert cpu < 0.2


def test_an_ended_child_counts():
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", BUSY.format(seconds=0.3)], check=True)
    assert cpu_seconds() - before >= 0.25


@pytest.mark.skipif(sys.platform != "linux", reason="living processes are read from /proc")
def test_a_living_worker_counts():
    before = cpu_seconds()
    code = BUSY.format(seconds=0.3) + "\nprint('done', flush=True)\nimport sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        assert cpu_seconds() - before >= 0.25


def test_a_table_is_markdown():
    assert markdown_table(["a", "b"], [["x", "1"]]).splitlines() == ["| a | b |", "| --- | ---: |", "| x | 1 |"]
