"""What a person is told of how training ended."""

from __future__ import annotations

from typing import Any

from gpuclf.report.ending import ending, last_row, not_converged


def metrics(status: str, steps: int, runs: tuple[str, ...] = ()) -> dict[str, Any]:
    cells = [{"options": {}, "runs": [{"seed": 0, "fold": f, "status": s} for f, s in enumerate(runs)]}]
    return {"final": [{"seed": 0, "status": status, "steps": steps}], "cells": cells}


def test_an_optimum_that_was_reached() -> None:
    found = metrics("converged", 78, ("converged", "converged"))
    assert ending(found, seeks_optimum=True) == [
        "The final model was finished by its learner's own rule (converged) after 78 steps."
    ]
    assert not not_converged(found, seeks_optimum=True)


def test_an_optimum_that_was_not() -> None:
    found = metrics("max_epochs", 500, ("converged", "max_epochs", "max_epochs"))
    row = {"phase": "refit", "seed": 0, "gradient_norm": 0.01234, "gap": 3e-4}
    said = ending(found, seeks_optimum=True, last=row)
    assert "has NOT converged: max_iter ended it after 500 steps, gap 0.0003, gradient norm 0.0123" in said[0]
    assert said[1] == "2 of the 3 models compared had not converged."
    assert not_converged(found, seeks_optimum=True)


def test_epochs_are_the_end_of_an_online_learner() -> None:
    assert ending(metrics("max_epochs", 1), seeks_optimum=False) == [
        "The final model was trained for 1 epoch, as configured."
    ]
    assert not not_converged(metrics("max_epochs", 6), seeks_optimum=False)
    assert "NOT converged: the time budget" in ending(metrics("time_budget", 2), seeks_optimum=False)[0]
    assert "early stopping chose" in ending(metrics("early_stopped", 2), seeks_optimum=False)[0]


def test_the_last_row_of_the_final_model() -> None:
    rows = [
        {"phase": phase, "seed": seed, "step": step}
        for phase, seed, step in [("grid", 0, 9), ("refit", 0, 1), ("refit", 1, 2), ("refit", 0, 2), ("refit", 1, 3)]
    ]
    assert last_row(rows, 0) == {"phase": "refit", "seed": 0, "step": 2}
    assert last_row(rows[:1], 0) is None
