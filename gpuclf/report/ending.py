"""How training ended, for a person: at the optimum that the learner looks for, or short of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuclf.report.strict_json import number
from gpuclf.report.summary import StepRow
from gpuclf.train.loop import CONVERGED, DIVERGED, EARLY, LAST_STEP, OUT_OF_TIME

_LEFT = ("gap", "duality_gap", "gradient_norm", "change")  # what tells how far from the optimum a step was


def ending(metrics: Mapping[str, Any], seeks_optimum: bool, last: StepRow | None = None) -> list[str]:
    """Sentences on the final model (metrics.json "final"), and on the cells of the grid whose runs stopped short.

    seeks_optimum: the learner steps until its objective is at its least, so the last allowed step is not the end that
    was meant. last: the row of metrics.jsonl with the final model's last step.
    """
    first = metrics["final"][0]
    said = [_final(first["status"], int(first["steps"]), seeks_optimum, last)]
    runs = [run for cell in metrics["cells"] for run in cell.get("runs", ())]
    short = sum(_stopped_short(run.get("status"), seeks_optimum) for run in runs)
    if short and len(runs) > 1:
        said.append(f"{short:,} of the {len(runs):,} models compared had not converged.")
    return said


def not_converged(metrics: Mapping[str, Any], seeks_optimum: bool) -> bool:
    """Whether the final model stopped short of what its learner looks for."""
    return _stopped_short(metrics["final"][0]["status"], seeks_optimum)


def last_row(rows: Iterable[StepRow], seed: int) -> StepRow | None:
    """The final model's last step among the rows of metrics.jsonl; None where it was not trained by itself."""
    found = None
    for row in rows:
        if row["phase"] == "refit" and row["seed"] == seed:
            found = row
    return found


def _stopped_short(status: Any, seeks_optimum: bool) -> bool:
    return status == OUT_OF_TIME or (seeks_optimum and status == LAST_STEP)


def _final(status: str, steps: int, seeks_optimum: bool, last: StepRow | None) -> str:
    after = f"after {steps:,} step{'' if steps == 1 else 's'}"
    if status == CONVERGED:
        return f"The final model was finished by its learner's own rule (converged) {after}."
    if status == LAST_STEP and not seeks_optimum:
        return f"The final model was trained for {steps:,} epoch{'' if steps == 1 else 's'}, as configured."
    reasons = {
        LAST_STEP: f"max_iter ended it {after}",
        OUT_OF_TIME: f"the time budget ended it {after}",
        EARLY: f"early stopping chose its state {after}",
        DIVERGED: f"it diverged {after}",
    }
    reason = reasons.get(status, f"{status} {after}")
    if status == EARLY:
        return f"The final model: {reason}."
    return f"The final model has NOT converged: {reason}{_distance(last)}."


def _distance(last: StepRow | None) -> str:
    found: Sequence[str] = [] if last is None else [name for name in _LEFT if number(last.get(name)) is not None]
    return "".join(f", {name.replace('_', ' ')} {number((last or {})[name]):.3g}" for name in found)
