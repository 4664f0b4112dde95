"""Times of two programs that do the same work, taken in turns so that a busy machine slows both alike."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

ResultT = TypeVar("ResultT")
OtherT = TypeVar("OtherT")


@dataclass(frozen=True)
class Times:
    """Seconds of each run, by the clock and of processor time (all threads, worker processes included)."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def median_wall(self) -> float:
        return statistics.median(self.wall)

    @property
    def median_cpu(self) -> float:
        return statistics.median(self.cpu)


def alternate(
    ours: Callable[[], ResultT], peer: Callable[[], OtherT], repeats: int
) -> tuple[Times, ResultT, Times, OtherT]:
    """Runs ours, peer, ours, peer …, `repeats` times each; the last results are given back."""
    assert repeats >= 1
    seconds: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": []}
    for _ in range(repeats):
        our_result, spent = timed(ours)
        seconds["ours"].append(spent)
        peer_result, spent = timed(peer)
        seconds["peer"].append(spent)
    our_times, peer_times = (Times(*zip(*seconds[who], strict=True)) for who in ("ours", "peer"))
    return our_times, our_result, peer_times, peer_result


def timed(work: Callable[[], ResultT]) -> tuple[ResultT, tuple[float, float]]:
    """The result of one run and its (wall, processor) seconds."""
    gc.collect()
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = work()
    return result, (time.perf_counter() - wall, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """Processor seconds of this process, of its ended children, and (on Linux) of the workers that still live."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system + _live_descendants()


def _live_descendants() -> float:
    """Processor seconds of living descendants and of their ended children, from /proc/*/stat; 0 where there is none."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (name) state ppid … utime stime cutime cstime are fields 14 to 17; a name may hold blanks.
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended meanwhile
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        ticks[pid] = sum(int(field) for field in fields[11:15])
    found, frontier = 0, {os.getpid()}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        found += sum(ticks[pid] for pid in frontier)
    return found / os.sysconf("SC_CLK_TCK") if parents else 0.0


def surroundings(device: torch.device) -> str:
    """What the figures were taken on, in one line."""
    card = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, torch {torch.__version__}, {device.type} ({card}), "
        f"{os.cpu_count()} cores, load {load:.1f}"
    )


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A table as it stands in RESULTS.md; all columns but the first are right-aligned."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])
