"""The mean curve of a grid cell over its folds and seeds, which may be trained in different batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CellCurve:
    """Collects the figures of a cell's runs and gives each step's mean once, in rising order of steps.

    A run that has stopped (converged, early stopping) counts with its last value: the mean is always over the same
    runs, and does not jump when an easy fold drops out. A step is given only when all `expected` runs have begun; when
    a cell's runs are cut into several batches that is during the last of them.
    """

    def __init__(self, expected: int):
        self._expected = expected
        self._history: dict[Any, list[tuple[int, Mapping[str, float]]]] = {}
        self._given = 0
        self._reached = 0

    def add(self, run: Any, step: int, figures: Mapping[str, float]) -> None:
        """One run's figures of one step; a run's steps arrive in rising order."""
        self._history.setdefault(run, []).append((step, figures))
        self._reached = step

    def take(self, *, everything: bool = False) -> list[tuple[int, dict[str, float]]]:
        """Steps with their means that were not given before; `everything`: no more rows are coming."""
        if everything:
            limit = max((rows[-1][0] for rows in self._history.values()), default=0)
        elif len(self._history) < self._expected:
            return []
        else:
            limit = self._reached
        steps = {step for rows in self._history.values() for step, _ in rows if self._given < step <= limit}
        means = [(step, self._means(step)) for step in sorted(steps)]
        self._given = max(self._given, limit)
        self._forget()
        return means

    def _means(self, step: int) -> dict[str, float]:
        """Mean of each figure that some run reports at this very step, over the last value of every run."""
        latest: dict[str, dict[Any, float]] = {}
        fresh: dict[str, None] = {}
        for run, rows in self._history.items():
            for at, figures in rows:
                if at > step:
                    break
                for name, value in figures.items():
                    latest.setdefault(name, {})[run] = value
                    if at == step:
                        fresh[name] = None
        return {name: sum(latest[name].values()) / len(latest[name]) for name in fresh}

    def _forget(self) -> None:
        """Folds each run's given steps into one row: memory does not grow with the number of epochs."""
        for run, rows in self._history.items():
            kept = [row for row in rows if row[0] > self._given]
            split = len(rows) - len(kept)
            if split > 1:
                merged = {name: value for _, figures in rows[:split] for name, value in figures.items()}
                self._history[run] = [(rows[split - 1][0], merged), *kept]
