"""Learning curves out of metrics.jsonl: each cell's mean over its folds and seeds, step by step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuclf.report.summary import StepRow, step_figures

_POINTS = 160  # of one curve: more cannot be seen
Curve = tuple[NDArray[np.int64], NDArray[np.float64]]  # steps (n,) rising, values (n,)


@dataclass(frozen=True)
class MeanCurves:
    """By phase ("grid", "refit") and figure ("held_out/accuracy", "fit/mistakes"): the curve of each cell."""

    curves: dict[tuple[str, str], dict[int, Curve]] = field(default_factory=dict)

    def of(self, phase: str, figure: str) -> dict[int, Curve]:
        return self.curves.get((phase, figure), {})


def mean_curves(rows: Iterable[StepRow], wanted: frozenset[str]) -> MeanCurves:
    """The curves of the figures in `wanted`. A run that has stopped counts with its last value, and a mean begins when
    all runs have: the mean is always over the same runs."""
    seen: dict[tuple[str, str], dict[int, dict[tuple[Any, ...], tuple[list[int], list[float]]]]] = {}
    for row in rows:
        run = (row["seed"], row["fold"], row.get("inner"))
        for name, value in step_figures(row).items():
            if name in wanted:
                of_cell = seen.setdefault((row["phase"], name), {}).setdefault(row["cell"], {})
                steps, values = of_cell.setdefault(run, ([], []))
                steps.append(row["step"])
                values.append(value)
    return MeanCurves({key: {cell: _mean(runs) for cell, runs in cells.items()} for key, cells in seen.items()})


def _mean(runs: dict[tuple[Any, ...], tuple[list[int], list[float]]]) -> Curve:
    series = [(np.asarray(steps), np.asarray(values, dtype=np.float64)) for steps, values in runs.values()]
    begin = max(int(steps[0]) for steps, _ in series)
    steps = np.unique(np.concatenate([steps for steps, _ in series]))
    steps = steps[steps >= begin]
    if len(steps) > _POINTS:
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, _POINTS).round().astype(int))]
    latest = [values[np.searchsorted(own, steps, side="right") - 1] for own, values in series]
    return steps, np.mean(latest, axis=0)
