"""From trained replicas to a table of cells, and from the table to the chosen cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from gpuclf.train.loop import DIVERGED
from gpuclf.train.plan import Replica
from gpuclf.train.views import Split


@dataclass(frozen=True)
class RunRecord:
    """One trained replica as the run folder tells of it. `fold` is None where there are none."""

    cell: int
    seed: int
    fold: int | None
    status: str
    steps: int
    figures: dict[str, float]
    inner: int | None = None  # the fold within `fold`'s training rows that it holds out, in nested cross-validation
    words: dict[str, float] = field(default_factory=dict)  # accuracy by ambiguous word, where each has its own model

    @property
    def sound(self) -> bool:
        return self.status != DIVERGED and all(math.isfinite(value) for value in self.figures.values())


@dataclass(frozen=True)
class CellRecord:
    """All runs of one setting. mean and std (over folds and seeds, n − 1) are empty where a run diverged."""

    index: int
    options: dict[str, Any]
    runs: tuple[RunRecord, ...]
    mean: dict[str, float] = field(default_factory=dict)
    std: dict[str, float] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        return all(run.sound for run in self.runs)

    def as_json(self) -> dict[str, Any]:
        runs = []
        for run in self.runs:
            row: dict[str, Any] = {"seed": run.seed, "fold": run.fold, **run.figures}
            row |= {"status": run.status, "steps": run.steps}
            row |= {"per_word": run.words} if run.words else {}
            runs.append(row if run.sound else row | {"failed": run.status})
        table = {"options": self.options, "runs": runs, "mean": self.mean, "std": self.std}
        return table if self.sound else table | {"failed": "a run has no finite result"}


def cell_records(settings: Sequence[dict[str, Any]], runs: Sequence[RunRecord]) -> list[CellRecord]:
    """One record a cell, runs ordered by seed and fold. Runs on inner folds have no part in it."""
    outer = [run for run in runs if run.inner is None]
    records = []
    for index, options in enumerate(settings):
        own = sorted((run for run in outer if run.cell == index), key=lambda run: (run.seed, run.fold or 0))
        cell = CellRecord(index, options, tuple(own))
        if own and cell.sound:
            names = own[0].figures
            values = {name: [run.figures[name] for run in own] for name in names}
            mean = {name: fmean(value) for name, value in values.items()}
            std = {name: stdev(value) if len(value) > 1 else 0.0 for name, value in values.items()}
            cell = CellRecord(index, options, tuple(own), mean, std)
        records.append(cell)
    return records


def choose_cell(
    cells: Sequence[CellRecord], metric: str, simplest: dict[str, int], one_standard_error: bool = False
) -> CellRecord | None:
    """The cell with the highest mean of `metric`; None where no cell is sound.

    A cell with a diverged or non-finite run is no candidate. Ties go to the simplest: `simplest` gives for an option
    the direction of stronger regularisation (−1 smaller, +1 larger); then to the first in the grid.
    one_standard_error: the simplest of all cells whose mean is at most one standard error of the best cell below it
    (Breiman et al. 1984, §3.4.3).
    """
    candidates = _candidates(cells, metric)
    if not candidates:
        return None
    best = min(candidates, key=lambda cell: (-cell.mean.get(metric, 0.0), _complexity(cell, simplest), cell.index))
    if not one_standard_error:
        return best
    least = best.mean[metric] - standard_error(best, metric)
    near = [cell for cell in candidates if cell.mean[metric] >= least]
    return min(near, key=lambda cell: (_complexity(cell, simplest), -cell.mean[metric], cell.index))


def contenders(
    cells: Sequence[CellRecord], metric: str, simplest: dict[str, int], one_standard_error: bool = False
) -> set[int]:
    """The complete cells that may still be chosen, whatever further cells turn out to be worth.

    Under the rule of one standard error these are all cells to which no other is at once as simple and as good.
    """
    if not one_standard_error:
        best = choose_cell(cells, metric, simplest)
        return set() if best is None else {best.index}
    candidates = _candidates(cells, metric)
    candidates.sort(key=lambda cell: (_complexity(cell, simplest), -cell.mean[metric], cell.index))
    kept: set[int] = set()
    highest = -math.inf
    for cell in candidates:
        if cell.mean[metric] > highest:
            highest = cell.mean[metric]
            kept.add(cell.index)
    return kept


def standard_error(cell: CellRecord, metric: str) -> float:
    """Standard deviation over folds (of means over seeds) by the root of their number; 0 for a single fold."""
    by_fold: dict[int | None, list[float]] = {}
    for run in cell.runs:
        by_fold.setdefault(run.fold, []).append(run.figures[metric])
    values = [fmean(figures) for figures in by_fold.values()]
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _candidates(cells: Sequence[CellRecord], metric: str) -> list[CellRecord]:
    return [cell for cell in cells if cell.sound and (metric in cell.mean or len(cells) == 1)]


def _complexity(cell: CellRecord, simplest: dict[str, int]) -> list[float]:
    return [-simplest[key] * float(value) for key, value in sorted(cell.options.items()) if key in simplest]


def run_records(
    replicas: Sequence[Replica],
    status: Sequence[str],
    steps: Sequence[int],
    figures: dict[str, list[float]],
    split: Split,
    words: Sequence[dict[str, float]] | None = None,
) -> list[RunRecord]:
    """Records of one batch, trained on views of `split`; figures hold one value a replica. words: of each replica the
    accuracy by ambiguous word."""
    return [
        RunRecord(
            cell=replica.cell.index,
            seed=replica.seed,
            fold=split.fold_of(replica.view),
            inner=split.inner_of(replica.view),
            status=status[place],
            steps=steps[place],
            figures={name: values[place] for name, values in figures.items()},
            words={} if words is None else words[place],
        )
        for place, replica in enumerate(replicas)
    ]
