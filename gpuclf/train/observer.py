"""What training tells the outside while it runs. `gpuclf.report` listens; training itself prints and plots nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from gpuclf.data.records import ReadReport


@dataclass(frozen=True)
class StepProgress:
    """Where a batch of replicas stands. `documents` counts document visits of this step, summed over replicas."""

    phase: str  # "grid" or "refit"
    batch: int
    batches: int
    step: int
    max_steps: int | None
    replicas: int
    running: int
    documents: int
    seconds: float  # of this step
    unit: str = "epoch"  # what a step is called


class Observer(Protocol):
    """Listens to a run. Rows are the lines of metrics.jsonl."""

    def holds(self, position: int) -> bool:
        """Whether the log still has every row that it had at this position (`sync` gave it)."""
        ...

    def resumed(self, position: int) -> None:
        """The run goes on from a checkpoint taken when the log had this position (0: from the beginning)."""
        ...

    def read(self, role: str, report: ReadReport) -> None: ...

    def note(self, message: str) -> None: ...

    def step(self, rows: list[dict[str, Any]], progress: StepProgress) -> None: ...

    def sync(self) -> int:
        """Makes all rows so far durable; the position to which a resumed run cuts the log back."""
        ...

    def rows_apart(self) -> list[dict[str, Any]]:
        """Rows that only this process has, in a run of several processes: all of them, but none of the first's."""
        ...

    def adopt(self, rows: list[dict[str, Any]]) -> None:
        """Takes in the rows of another process."""
        ...


class SilentObserver:
    """Hears nothing; for runs from Python and for tests."""

    def holds(self, position: int) -> bool:
        del position
        return True

    def resumed(self, position: int) -> None:
        del position

    def read(self, role: str, report: ReadReport) -> None:
        del role, report

    def note(self, message: str) -> None:
        del message

    def step(self, rows: list[dict[str, Any]], progress: StepProgress) -> None:
        del rows, progress

    def sync(self) -> int:
        return 0

    def rows_apart(self) -> list[dict[str, Any]]:
        return []

    def adopt(self, rows: list[dict[str, Any]]) -> None:
        del rows
