"""Nested cross-validation: a cell chosen anew for every fold, by folds within its training rows; judged on that fold.

The estimate is of the whole procedure, choice included: no held-out document had a part in choosing what it judges
(Varma & Simon 2006). Inner and outer models are replicas of the same batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from gpuclf.train.options import SelectOptions
from gpuclf.train.selection import RunRecord, cell_records, choose_cell


def nested_record(
    settings: Sequence[dict[str, Any]], runs: Sequence[RunRecord], select: SelectOptions, simplest: dict[str, int]
) -> dict[str, Any]:
    """metrics.json "nested": the cell chosen for each fold with its figures there (means over seeds), mean and std.

    A fold for which no cell is sound, or whose chosen cell diverged on it, has "failed" instead of figures; then there
    is no mean.
    """
    folds: list[dict[str, Any]] = []
    for fold in sorted({run.fold for run in runs if run.fold is not None}):
        inner = [replace(run, fold=run.inner, inner=None) for run in runs if run.fold == fold and run.inner is not None]
        best = choose_cell(cell_records(settings, inner), select.metric, simplest, select.one_standard_error)
        if best is None:
            folds.append({"fold": fold, "cell": None, "failed": "no cell has a finite result on the inner folds"})
            continue
        own = [run for run in runs if run.cell == best.index and run.fold == fold and run.inner is None]
        row: dict[str, Any] = {
            "fold": fold,
            "cell": best.index,
            "options": best.options,
            "chosen_by": best.mean[select.metric],
        }
        if all(run.sound for run in own):
            row |= {name: fmean(run.figures[name] for run in own) for name in own[0].figures}
        else:
            row["failed"] = "the chosen cell has no finite result on this fold"
        folds.append(row)
    record: dict[str, Any] = {"metric": select.metric, "folds": folds}
    if any("failed" in row for row in folds):
        return record | {"failed": "a fold has no finite result"}
    names = next(run.figures for run in runs)
    values = {name: [row[name] for row in folds] for name in names}
    return record | {
        "mean": {name: fmean(figures) for name, figures in values.items()},
        "std": {name: stdev(figures) if len(figures) > 1 else 0.0 for name, figures in values.items()},
    }
