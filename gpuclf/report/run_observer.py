"""Listens to a run: metrics.jsonl, TensorBoard, the progress line, what was read, env.json."""

from __future__ import annotations

import sys
import time
from itertools import groupby
from typing import Any

import torch

from gpuclf.data.records import ReadReport
from gpuclf.report.console import print_read_reports
from gpuclf.report.environment import Fingerprint, environment
from gpuclf.report.metrics_log import MetricsLog, read_rows
from gpuclf.report.progress import Progress
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.summary import FinalFigures, GridPlan
from gpuclf.report.visible_text import visible
from gpuclf.train.observer import SilentObserver, StepProgress


class RunObserver:
    """Writes what a run tells into its folder and to stderr. Use as a context manager.

    `tensorboard` False leaves the event files out; metrics.jsonl is always written.
    """

    def __init__(self, folder: RunFolder, plan: GridPlan, device: torch.device, tensorboard: bool):
        self._folder, self._plan, self._device, self._tensorboard = folder, plan, device, tensorboard
        self._seeds = sorted({seed for seed, _ in plan.runs})
        self._files: list[Fingerprint] = []
        self._reads: dict[str, ReadReport] = {}
        self._log = MetricsLog(folder.metrics_log)
        self._board: Any = None
        self._progress: tuple[tuple[str, int], Progress] | None = None

    def holds(self, position: int) -> bool:
        return self._log.holds(position)

    def resumed(self, position: int) -> None:
        self._log.truncate(position)
        if self._tensorboard:
            from gpuclf.report.tensorboard import TensorBoardLog

            rows = read_rows(self._folder.metrics_log)
            self._board = TensorBoardLog.rebuild(self._folder.path, rows, self._plan)

    def read(self, role: str, report: ReadReport) -> None:
        self._reads[role] = report
        found = Fingerprint(path=str(report.path), size=report.bytes, sha256=report.sha256)
        if found in self._files:
            return  # read once more, for other features
        print_read_reports([report])
        self._files = [file for file in self._files if file["path"] != str(report.path)]
        self._files.append(found)
        self._folder.write_env(environment(self._device, self._seeds, self._files))

    def note(self, message: str) -> None:
        self._end_progress()
        print(f"note: {visible(message)}", file=sys.stderr, flush=True)

    def step(self, rows: list[dict[str, Any]], progress: StepProgress) -> None:
        now = round(time.time(), 3)
        timed = [row | {"time": now} for row in rows]
        self._log.append(timed)
        if self._tensorboard:
            self._open_board().step(timed)
        key = (progress.phase, progress.batch)
        if self._progress is None or self._progress[0] != key:
            self._end_progress()
            of = f" {progress.batch + 1}/{progress.batches}" if progress.batches > 1 else ""
            models = f"{progress.replicas} model{'s' if progress.replicas > 1 else ''}"
            self._progress = (key, Progress(f"{progress.phase}{of}, {models}", unit=progress.unit))
        each = progress.documents / max(progress.replicas, 1)
        self._progress[1].update(
            progress.step,
            progress.max_steps or progress.step,
            docs_per_second=each / max(progress.seconds, 1e-9),
            replicas=progress.replicas,
        )
        if not progress.running:
            self._end_progress()

    def sync(self) -> int:
        return self._log.sync()

    @property
    def reads(self) -> list[tuple[str, ReadReport]]:
        """(role, what was read), of each role the latest."""
        return list(self._reads.items())

    def final(self, figures: FinalFigures) -> None:
        """The figures of the finished run go to TensorBoard."""
        if self._tensorboard:
            self._open_board().final(figures)

    def rows_apart(self) -> list[dict[str, Any]]:
        return []

    def adopt(self, rows: list[dict[str, Any]]) -> None:
        self._log.append(rows)
        if self._tensorboard:
            for _, step in groupby(rows, key=lambda row: (row["phase"], row["batch"], row["step"])):
                self._open_board().step(list(step))

    def close(self) -> None:
        self._end_progress()
        self._log.close()
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> RunObserver:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open_board(self) -> Any:
        if self._board is None:
            from gpuclf.report.tensorboard import TensorBoardLog

            self._board = TensorBoardLog(self._folder.path, self._plan)
        return self._board

    def _end_progress(self) -> None:
        if self._progress is not None:
            self._progress[1].close()
            self._progress = None


class WorkerObserver(SilentObserver):
    """A further process of a run: keeps its rows in a log of its own until the first process takes them."""

    def __init__(self, folder: RunFolder, number: int):
        self._path = folder.worker_log(number)
        self._opened: MetricsLog | None = None

    def holds(self, position: int) -> bool:
        return self._log.holds(position)

    def resumed(self, position: int) -> None:
        self._log.truncate(position)

    def step(self, rows: list[dict[str, Any]], progress: StepProgress) -> None:
        del progress
        now = round(time.time(), 3)
        self._log.append([row | {"time": now} for row in rows])

    def sync(self) -> int:
        return self._log.sync()

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def rows_apart(self) -> list[dict[str, Any]]:
        self._log.sync()
        return list(read_rows(self._path))

    @property
    def _log(self) -> MetricsLog:
        """Made when it is needed: a run whose data are refused leaves nothing behind."""
        if self._opened is None:
            self._opened = MetricsLog(self._path)
        return self._opened
