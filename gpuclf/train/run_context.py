"""What the stages of a run share: options, device, observer, checkpoints, signals."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpuclf.train.checkpoint import Checkpoint, save_checkpoint
from gpuclf.train.distribution import rank, world
from gpuclf.train.loop import BatchLoop, StepReport
from gpuclf.train.observer import Observer, StepProgress
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.plan import Replica
from gpuclf.train.signals import StopRequest
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.views import Split

CHECKPOINTS = "checkpoints"


def checkpoint_folder(folder: Path) -> Path:
    """Where this process keeps its checkpoints: `checkpoints`, other processes than the first in a folder below."""
    return folder / CHECKPOINTS / f"process-{rank()}" if rank() else folder / CHECKPOINTS


@dataclass
class RunContext:
    """One run as its stages see it. `saved`: the checkpoint that the run continues from, until a stage takes it up."""

    options: ExperimentOptions
    device: torch.device
    folder: Path
    observer: Observer
    stop: StopRequest
    watch: Stopwatch
    saved: Checkpoint | None = None
    fingerprint: dict[str, str] = field(default_factory=dict)
    _last_save: float = field(default_factory=time.monotonic)
    _unsaved: Callable[[], None] | None = None  # writes what was finished since the last checkpoint

    def save(self, stage: dict[str, Any], tensors: dict[str, Tensor], loop: BatchLoop | None = None) -> None:
        """Writes a checkpoint: the stage's own values and tensors, and the running loop's."""
        inner = loop.checkpoint() if loop is not None else Checkpoint({}, {})
        values = {
            "stage": stage,
            "log": self.observer.sync(),
            "seconds": self.watch.seconds,
            "fingerprint": self.fingerprint,
            "processes": world(),
            **inner.values,
        }
        save_checkpoint(checkpoint_folder(self.folder), Checkpoint({**tensors, **inner.tensors}, values))
        self._last_save, self._unsaved = time.monotonic(), None

    def batch_done(self, step: int | None, save: Callable[[], None]) -> None:
        """A batch has ended with this step: `save` writes a checkpoint when one is due, or a signal ends the run."""
        self._unsaved = save
        if self._due(step) or self.stop.number is not None:
            self.save_rest()

    def save_rest(self) -> None:
        """Writes a checkpoint if a batch has ended since the last one: a signal outside of the loop ends the run."""
        if self._unsaved is not None:
            self._unsaved()

    def after_step(
        self,
        phase: str,
        batch: int,
        batches: int,
        replicas: Sequence[Replica],
        split: Split,
        max_steps: int | None,
        documents: Callable[[Tensor], int],
        save: Callable[[BatchLoop], None],
        judged_by: str = "held_out",
        unit: str = "epoch",
        words: Sequence[str] = (),
    ) -> Callable[[StepReport, BatchLoop], None]:
        """The loop's callback: rows and progress to the observer, checkpoints when due, and the end on a signal.

        `documents(positions)` counts the document visits of one step of those replicas. judged_by: the name under which
        a row has the figures of its result; unit: what a step is called; words: the content words of reviews.
        """

        def callback(report: StepReport, loop: BatchLoop) -> None:
            rows = step_rows(report, phase, batch, replicas, split, judged_by, words)
            visits = documents(report.positions)
            count = report.positions.numel()
            self.observer.step(
                rows,
                StepProgress(
                    phase, batch, batches, report.step, max_steps, count, report.running, visits, report.seconds, unit
                ),
            )
            if loop.running and (self._due(report.step) or self.stop.number is not None):
                save(loop)
                self.stop.raise_if_requested()

        return callback

    def _due(self, step: int | None) -> bool:
        train = self.options.train
        if step is not None and train.checkpoint_every is not None and step % train.checkpoint_every == 0:
            return True
        return time.monotonic() - self._last_save >= train.checkpoint_seconds


def step_rows(
    report: StepReport,
    phase: str,
    batch: int,
    replicas: Sequence[Replica],
    split: Split,
    judged_by: str = "held_out",
    words: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl for one step, one a replica. Those of inner folds are of the phase "inner"."""
    columns = {name: value.cpu().tolist() for name, value in report.figures.items()}
    held_out = {name: value.tolist() for name, value in (report.held_out or {}).items()}
    rows = []
    for place, position in enumerate(report.positions.tolist()):
        replica = replicas[position]
        row: dict[str, Any] = {
            "phase": phase,
            "batch": batch,
            "step": report.step,
            "cell": replica.cell.index,
            "options": replica.cell.settings,
            "seed": replica.seed,
            "fold": split.fold_of(replica.view),
        }
        if (inner := split.inner_of(replica.view)) is not None:
            row |= {"phase": "inner", "inner": inner}
        row |= {name: values[place] for name, values in columns.items()}
        if held_out and report.judged[place]:
            row[judged_by] = {name: values[place] for name, values in held_out.items()}
        told = {name: table[place].tolist() for name, table in report.told.items()}
        if "topics" in told:
            told["topics"] = [" ".join(words[number] for number in topic if number >= 0) for topic in told["topics"]]
        row |= told
        rows.append(row)
    return rows
