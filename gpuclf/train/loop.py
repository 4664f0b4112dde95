"""The one loop: drives any learner over one batch of replicas.

It owns what no learner should: when to stop each replica, dropping finished replicas from the work, the NaN guard,
held-out figures, the rows of metrics.jsonl, checkpoints, the time budget and signals.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from gpuclf.models.learner import Learner, Predictor, Problem, Replicas, Staged, Telling
from gpuclf.models.replica_axis import flatten, put_replicas, restore, take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.early_stopping import Patience
from gpuclf.train.stopwatch import Stopwatch

RUNNING = "running"
CONVERGED = "converged"  # by the learner's own rule
LAST_STEP = "max_epochs"
EARLY = "early_stopped"
DIVERGED = "diverged"  # NaN or infinity: never a candidate
OUT_OF_TIME = "time_budget"

_NEVER = torch.iinfo(torch.int64).max


@dataclass(frozen=True)
class StepReport:
    """What one step did: figures by name, each (A,), of the replicas at `positions` (A,) in the batch.

    held_out figures are those of the replicas whose turn it was, judged (A,) bool, and NaN for others. told: what the
    learner tells of them, every few steps.
    """

    step: int
    positions: Tensor
    figures: dict[str, Tensor]
    held_out: dict[str, Tensor] | None
    judged: Tensor
    running: int
    seconds: float
    told: dict[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchOutcome:
    """The trained replicas of one batch. status and steps have one entry a replica; held_out figures are (R,)."""

    predictor: Predictor
    alternatives: dict[str, Predictor]
    status: list[str]
    steps: list[int]
    held_out: dict[str, Tensor]


class Judge(Protocol):
    """Measures results in training: on held-out rows (HeldOutRows), or against gold tags."""

    def metrics(self, predictor: Any, replicas: Replicas) -> dict[str, Tensor]:
        """Figures by name, each (R,) float64, of the predictor of these replicas."""
        ...


class BatchLoop:
    """Trains one batch to its end, or to a checkpoint.

    `max_steps` None: the learner alone decides. `ends` (R,) int64: the last step of each replica, where it comes before
    max_steps. `after_step(report, loop)` is called after every step and may save `checkpoint()` or raise to stop; a
    loop made anew for the same problem continues after `resume(checkpoint)`.
    """

    def __init__(
        self,
        learner: Learner,
        problem: Problem,
        options: TrainOptions,
        max_steps: int | None,
        held_out: Judge | None = None,
        wants_alternatives: bool = False,
        watch: Stopwatch | None = None,
        ends: Tensor | None = None,
    ):
        self._learner, self._whole, self._problem = learner, problem, problem
        self._options, self._held_out = options, held_out
        self._wants_alternatives = wants_alternatives
        self._watch = watch or Stopwatch()
        count = len(problem.replicas)
        self._ends = torch.full((count,), _NEVER if max_steps is None else max_steps)
        if ends is not None:
            self._ends = torch.minimum(self._ends, ends.cpu())
        self._alive = torch.arange(count)
        self._state: Any = learner.init(problem)
        self._kept: Predictor | None = None
        self._kept_others: dict[str, Predictor] = {}
        self._patience = Patience.fresh(count)
        self._status = [RUNNING] * count
        self._steps = [0] * count
        self._figures: dict[str, Tensor] = {}  # last held-out figures, (R,)
        self._latest: dict[str, Tensor] | None = None
        self._judged = torch.zeros(count, dtype=torch.bool)
        self._told: dict[str, Tensor] = {}
        self.step = 0
        self.seconds = 0.0

    def run(self, after_step: Callable[[StepReport, BatchLoop], None]) -> BatchOutcome:
        while self._alive.numel():
            began = time.perf_counter()
            with self._watch.timed("train"):
                self._state = self._learner.step(self._problem, self._state)
                self.step += 1
                seconds = time.perf_counter() - began
                self.seconds += seconds
                positions, figures = self._alive, self._learner.progress(self._problem, self._state)
                self._settle(figures)
            running = self._alive.numel()
            judged, told = self._judged, self._told
            after_step(StepReport(self.step, positions, figures, self._latest, judged, running, seconds, told), self)
        assert self._kept is not None
        return BatchOutcome(self._kept, self._kept_others, self._status, self._steps, self._figures)

    def _settle(self, figures: dict[str, Tensor]) -> None:
        """Decides who stops after this step, keeps the results of those, and drops them from the work."""
        finished = self._learner.finished(self._problem, self._state).cpu()
        diverged = _non_finite(figures, len(self._problem.replicas))
        budget = self._options.time_budget
        last = self._ends[self._alive] <= self.step
        late = budget is not None and self.seconds >= budget
        early = isinstance(self._learner, Staged) and not self._learner.ready(self._problem, self._state)
        every = self.step % self._options.evaluate_every == 0 and not early
        # One replica that finishes must not bring the others an evaluation that they would not have had alone.
        self._judged = finished | diverged | last | (every or late)
        self._latest = None
        self._told = self._telling()
        over = finished | diverged | last | late
        if not bool((over if self._held_out is None else self._judged).any()):
            return
        predictor = self._learner.result(self._problem, self._state)
        exhausted = self._evaluate(predictor, diverged)
        ends = over | exhausted
        for place in torch.nonzero(ends).flatten().tolist():
            position = int(self._alive[place])
            reasons = (
                (bool(diverged[place]), DIVERGED),
                (bool(exhausted[place]), EARLY),
                (bool(finished[place]), CONVERGED),
                (bool(last[place]), LAST_STEP),
            )
            self._status[position] = next((status for holds, status in reasons if holds), OUT_OF_TIME)
            self._steps[position] = int(self._patience.best_step[position]) or self.step
        if bool(ends.any()):
            self._keep(predictor, torch.nonzero(ends).flatten())
            self._drop(torch.nonzero(~ends).flatten())

    def _telling(self) -> dict[str, Tensor]:
        """What the learner tells, where it is time for that."""
        due = self.step % self._options.evaluate_every == 0 or bool(self._judged.any())
        if not due or not isinstance(self._learner, Telling):
            return {}
        return {name: table.cpu() for name, table in self._learner.told(self._problem, self._state).items()}

    def _evaluate(self, predictor: Predictor, diverged: Tensor) -> Tensor:
        """Held-out figures now; (A,) bool: replicas whose patience is at its end."""
        nobody = torch.zeros(len(self._problem.replicas), dtype=torch.bool)
        if self._held_out is None:
            return nobody
        stopping, judged = self._options.early_stopping, torch.nonzero(self._judged).flatten()
        replicas = self._problem.replicas
        with self._watch.timed("evaluate"):
            if judged.numel() == len(replicas):
                measured = self._held_out.metrics(predictor, replicas)
            else:
                measured = self._held_out.metrics(take_replicas(predictor, judged), replicas.take(judged))
        none = torch.full((len(replicas),), torch.nan, dtype=torch.float64)
        self._latest = {
            name: none.index_copy(0, judged, value.cpu().to(torch.float64)).masked_fill(diverged, torch.nan)
            for name, value in measured.items()
        }
        figures = {name: value[judged] for name, value in self._latest.items()}
        if stopping is None:
            self._remember(self._alive[judged], figures)
            return nobody
        improved, given_up = self._patience.observe(stopping, self._alive[judged], figures[stopping.metric], self.step)
        exhausted = nobody.index_copy(0, judged, given_up)
        places = judged[improved]
        if places.numel():
            self._remember(self._alive[places], {name: value[places] for name, value in self._latest.items()})
            self._keep_predictor(predictor, places)
        return exhausted

    def _remember(self, positions: Tensor, figures: dict[str, Tensor]) -> None:
        for name, value in figures.items():
            if name not in self._figures:
                self._figures[name] = torch.full((len(self._status),), torch.nan, dtype=torch.float64)
            self._figures[name][positions] = value

    def _keep(self, predictor: Predictor, places: Tensor) -> None:
        """The results of the replicas at `places` among the running ones; an earlier best is not replaced."""
        fresh = places[self._patience.best_step[self._alive[places]] == 0]
        if fresh.numel():
            self._keep_predictor(predictor, fresh)
        if self._wants_alternatives:
            for name, other in self._learner.alternatives(self._problem, self._state).items():
                self._kept_others[name] = self._merged(self._kept_others.get(name), other, places)

    def _keep_predictor(self, predictor: Predictor, places: Tensor) -> None:
        self._kept = self._merged(self._kept, predictor, places)

    def _merged(self, kept: Predictor | None, source: Predictor, places: Tensor) -> Predictor:
        if places.numel() == len(self._status):
            return source
        if kept is None:
            # Every replica is overwritten before the loop ends; what stands here until then is never read.
            kept = take_replicas(source, torch.zeros(len(self._status), dtype=torch.int64))
        return put_replicas(kept, self._alive[places], take_replicas(source, places))

    def _drop(self, places: Tensor) -> None:
        """Goes on with the replicas at `places` among the running ones only."""
        self._alive = self._alive[places]
        if self._alive.numel():
            self._state = take_replicas(self._state, places)
        self._problem = replace(self._problem, replicas=self._problem.replicas.take(places))

    @property
    def running(self) -> int:
        """Replicas still in training."""
        return self._alive.numel()

    def checkpoint(self) -> Checkpoint:
        """All that `resume` needs to go on to the same bits; save before the next step, which may reuse the state."""
        assert self._alive.numel(), "a finished batch is kept as its outcome"
        tensors, values = _prefixed("state", self._state)
        kept: dict[str, Predictor] = {"kept": self._kept} if self._kept is not None else {}
        kept |= {f"kept_{name}": other for name, other in self._kept_others.items()}
        for name, predictor in kept.items():
            more_tensors, more_values = _prefixed(name, predictor)
            tensors |= more_tensors
            values |= more_values
        tensors |= {
            "loop.alive": self._alive.clone(),
            "loop.best": self._patience.best.clone(),
            "loop.best_step": self._patience.best_step.clone(),
            "loop.waited": self._patience.waited.clone(),
        }
        tensors |= {f"figures.{name}": value.clone() for name, value in self._figures.items()}
        values["loop"] = {
            "step": self.step,
            "seconds": self.seconds,
            "status": list(self._status),
            "steps": list(self._steps),
            "kept": sorted(kept),
        }
        return Checkpoint(tensors, values)

    def resume(self, saved: Checkpoint) -> None:
        """Puts the loop where `saved` was taken."""
        about = saved.values["loop"]
        everyone = self._learner.result(self._whole, self._state)
        for name in about["kept"]:
            kept = restore(everyone, *_unprefixed(name, saved))
            if name == "kept":
                self._kept = kept
            else:
                self._kept_others[name.removeprefix("kept_")] = kept
        self._alive = saved.tensors["loop.alive"]
        self._problem = replace(self._whole, replicas=self._whole.replicas.take(self._alive))
        self._state = restore(take_replicas(self._state, self._alive), *_unprefixed("state", saved))
        self._patience = Patience(
            saved.tensors["loop.best"], saved.tensors["loop.best_step"], saved.tensors["loop.waited"]
        )
        self._figures = {
            name.removeprefix("figures."): value for name, value in saved.tensors.items() if name.startswith("figures.")
        }
        self._status, self._steps = list(about["status"]), list(about["steps"])
        self.step, self.seconds = about["step"], about["seconds"]


def _non_finite(figures: dict[str, Tensor], replicas: int) -> Tensor:
    """(R,) bool: replicas with a NaN or infinite figure."""
    bad = torch.zeros(replicas, dtype=torch.bool)
    for value in figures.values():
        if value.is_floating_point():
            bad |= ~torch.isfinite(value).cpu()
    return bad


def _prefixed(prefix: str, record: Any) -> tuple[dict[str, Tensor], dict[str, Any]]:
    tensors, values = flatten(record)
    return {f"{prefix}.{k}": v for k, v in tensors.items()}, {f"{prefix}.{k}": v for k, v in values.items()}


def _unprefixed(prefix: str, saved: Checkpoint) -> tuple[dict[str, Tensor], dict[str, Any]]:
    start = f"{prefix}."
    return (
        {k.removeprefix(start): v for k, v in saved.tensors.items() if k.startswith(start)},
        {k.removeprefix(start): v for k, v in saved.values.items() if k.startswith(start)},
    )
