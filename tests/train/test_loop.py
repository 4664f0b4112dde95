"""The loop: who stops when, what is kept, and that a resumed loop is the same loop."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from gpuclf.models.train_options import EarlyStopping, TrainOptions
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.loop import BatchLoop, BatchOutcome, StepReport
from tests.train.scripted_learner import ScriptedHeldOut, ScriptedLearner, scripted_problem

FLAT = [[0.5] * 6] * 3


def run(
    learner: ScriptedLearner, options: TrainOptions, max_steps: int | None, held_out: Any = None, replicas: int = 3
) -> tuple[BatchOutcome, list[StepReport], list[Checkpoint]]:
    reports: list[StepReport] = []
    saved: list[Checkpoint] = []

    def note(report: StepReport, loop: BatchLoop) -> None:
        reports.append(report)
        if loop.running:
            saved.append(loop.checkpoint())

    loop = BatchLoop(learner, scripted_problem(replicas), options, max_steps, held_out, wants_alternatives=True)
    return loop.run(note), reports, saved


def test_replicas_drop_out_of_the_work_and_keep_their_result() -> None:
    learner = ScriptedLearner(FLAT, [2, 4, 1])
    outcome, reports, _ = run(learner, TrainOptions(), None)
    assert learner.worked == [[0, 1, 2], [0, 1], [1], [1]]
    assert outcome.predictor.value.tolist() == [2, 4, 1]  # type: ignore[attr-defined]
    assert outcome.alternatives["twice"].value.tolist() == [4, 8, 2]  # type: ignore[attr-defined]
    assert outcome.status == ["converged"] * 3
    assert outcome.steps == [2, 4, 1]
    assert [report.positions.tolist() for report in reports] == learner.worked


def test_the_last_step_ends_everyone() -> None:
    outcome, _, _ = run(ScriptedLearner(FLAT, [9, 9, 9]), TrainOptions(), 3)
    assert outcome.status == ["max_epochs"] * 3
    assert outcome.steps == [3, 3, 3]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_replica_that_diverges_is_stopped_and_named(bad: float) -> None:
    learner = ScriptedLearner([[0.5] * 3, [0.5, bad, 0.5], [0.5] * 3], [9, 9, 9])
    held_out = ScriptedHeldOut([[0.1, 0.2, 0.3]] * 3)
    outcome, _, _ = run(learner, TrainOptions(), 3, held_out)
    assert outcome.status == ["max_epochs", "diverged", "max_epochs"]
    assert outcome.held_out["accuracy"][0] == 0.3
    assert math.isnan(outcome.held_out["accuracy"][1])
    assert learner.worked[-1] == [0, 2]


def test_early_stopping_keeps_the_best_state_of_each_replica() -> None:
    stopping = EarlyStopping(metric="accuracy", patience=2)
    held_out = ScriptedHeldOut([[0.1, 0.5, 0.4, 0.4, 0, 0], [0.6, 0.1, 0.1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]])
    learner = ScriptedLearner(FLAT, [9, 9, 9])
    outcome, _, _ = run(learner, TrainOptions(early_stopping=stopping), 6, held_out)
    assert outcome.predictor.value.tolist() == [2, 1, 6]  # type: ignore[attr-defined]
    assert outcome.steps == [2, 1, 6]
    assert outcome.status == ["early_stopped", "early_stopped", "max_epochs"]
    assert outcome.held_out["accuracy"].tolist() == [0.5, 0.6, 0.6]
    assert learner.worked == [[0, 1, 2]] * 3 + [[0, 2], [2], [2]]
    assert outcome.alternatives["twice"].value.tolist() == [8, 6, 12]  # type: ignore[attr-defined]


def test_min_delta_asks_for_a_real_improvement() -> None:
    stopping = EarlyStopping(metric="accuracy", patience=1, min_delta=0.1)
    held_out = ScriptedHeldOut([[0.5, 0.55, 0.9, 0, 0, 0]])
    outcome, _, _ = run(ScriptedLearner(FLAT, [9]), TrainOptions(early_stopping=stopping), 6, held_out, 1)
    assert outcome.steps == [1]


def test_held_out_figures_come_when_asked_for_and_at_the_end() -> None:
    held_out = ScriptedHeldOut([[0.1, 0.2, 0.3, 0.4, 0.5]] * 3)
    _, reports, _ = run(ScriptedLearner(FLAT, [9, 9, 9]), TrainOptions(evaluate_every=2), 5, held_out)
    assert [report.step for report in reports if report.held_out is not None] == [2, 4, 5]


def test_the_time_budget_ends_the_batch_with_what_there_is() -> None:
    outcome, _, _ = run(ScriptedLearner(FLAT, [9, 9, 9]), TrainOptions(time_budget=1e-9), None)
    assert outcome.status == ["time_budget"] * 3
    assert outcome.steps == [1, 1, 1]


@pytest.mark.parametrize("stopping", [None, EarlyStopping(metric="accuracy", patience=2)])
def test_a_loop_resumed_anywhere_ends_the_same(stopping: EarlyStopping | None) -> None:
    accuracy = [[0.1, 0.5, 0.4, 0.4, 0, 0], [0.6, 0.1, 0.1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]
    options = TrainOptions(early_stopping=stopping)

    def learner() -> ScriptedLearner:
        return ScriptedLearner(FLAT, [6, 5, 9])

    whole, _, saved = run(learner(), options, 6, ScriptedHeldOut(accuracy))
    assert len(saved) >= 4
    for checkpoint in saved:
        loop = BatchLoop(learner(), scripted_problem(3), options, 6, ScriptedHeldOut(accuracy), True)  # type: ignore[arg-type]
        loop.resume(checkpoint)
        resumed = loop.run(lambda report, running: None)
        torch.testing.assert_close(resumed.predictor.value, whole.predictor.value)  # type: ignore[attr-defined]
        assert (resumed.status, resumed.steps) == (whole.status, whole.steps)
        torch.testing.assert_close(resumed.held_out, whole.held_out)
        torch.testing.assert_close(
            resumed.alternatives["twice"].value,  # type: ignore[attr-defined]
            whole.alternatives["twice"].value,  # type: ignore[attr-defined]
        )


def test_a_replica_that_finishes_brings_the_others_no_evaluation() -> None:
    """Alone, the second replica is judged at steps 3 and 6 only; beside one that ends at step 2 as well."""
    stopping = EarlyStopping(metric="accuracy", patience=1)
    options = TrainOptions(evaluate_every=3, early_stopping=stopping)
    held_out = ScriptedHeldOut([[0.5] * 6, [0.1, 0.9, 0.3, 0.3, 0.3, 0.4]])
    outcome, reports, _ = run(ScriptedLearner([[0.5] * 6] * 2, [2, 9]), options, 6, held_out, replicas=2)
    assert [report.step for report in reports if report.held_out is not None] == [2, 3, 6]
    assert reports[1].judged.tolist() == [True, False]
    assert reports[1].held_out is not None
    assert reports[1].held_out["accuracy"].isnan().tolist() == [False, True]
    assert held_out.seen == [[0], [1], [1]]  # not even measured
    assert outcome.steps == [2, 6]
    assert outcome.held_out["accuracy"].tolist() == [0.5, 0.4]


def test_each_replica_has_a_last_step_of_its_own() -> None:
    loss = [[0.5] * 6, [0.5] * 3 + [math.nan] * 3, [0.5] * 6, [0.5] * 6]
    learner, reports = ScriptedLearner(loss, [9, 9, 4, 9]), []
    loop = BatchLoop(learner, scripted_problem(4), TrainOptions(), 5, None, True, ends=torch.tensor([2, 6, 6, 1]))  # type: ignore[arg-type]
    outcome = loop.run(lambda report, running: reports.append((report.positions.tolist(), report.running)))
    assert learner.worked == [[0, 1, 2, 3], [0, 1, 2], [1, 2], [1, 2]]
    assert reports == [([0, 1, 2, 3], 3), ([0, 1, 2], 2), ([1, 2], 2), ([1, 2], 0)]
    assert outcome.status == ["max_epochs", "diverged", "converged", "max_epochs"]
    assert outcome.steps == [2, 4, 4, 1]
    assert outcome.predictor.value.tolist() == [2, 4, 4, 1]  # type: ignore[attr-defined]
    assert outcome.alternatives["twice"].value.tolist() == [4, 8, 8, 2]  # type: ignore[attr-defined]


def test_max_steps_binds_replicas_that_would_go_on() -> None:
    outcome = BatchLoop(  # type: ignore[arg-type]
        ScriptedLearner(FLAT, [9] * 3), scripted_problem(3), TrainOptions(), 3, ends=torch.tensor([5, 2, 3])
    ).run(lambda report, running: None)
    assert outcome.steps == [3, 2, 3]


def test_a_replica_at_its_last_step_brings_the_others_no_evaluation() -> None:
    held_out = ScriptedHeldOut([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]] * 2)
    learner, options, reports = ScriptedLearner([[0.5] * 6] * 2, [9, 9]), TrainOptions(evaluate_every=3), []
    loop = BatchLoop(learner, scripted_problem(2), options, 6, held_out, ends=torch.tensor([2, 4]))  # type: ignore[arg-type]
    outcome = loop.run(lambda report, running: reports.append(report))
    assert held_out.seen == [[0], [1], [1]]
    assert outcome.held_out["accuracy"].tolist() == [0.2, 0.4]
