"""Trains models on one copy of the rows: the loop of `gpuclf.train` without files, logs and held-out figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.estimators.inputs import content_keys
from gpuclf.estimators.setup import Setup
from gpuclf.features.rows import CodeRows, SparseRows, Views, rows_to
from gpuclf.models.learner import Learner, Predictor, Problem, Replicas, settled
from gpuclf.models.replica_axis import take_replicas
from gpuclf.train.loop import DIVERGED, LAST_STEP, BatchLoop, BatchOutcome
from gpuclf.train.training_batch import batch_bytes, max_steps

DIVERGED_MESSAGE = "training ran into numbers beyond all bounds; scale the features, or regularise more"


@dataclass(frozen=True)
class Rows:
    """Rows with labels (docs,) int64 into the names of the classes, and how often each counts (None: once)."""

    rows: SparseRows | CodeRows
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Trained:
    """One trained model: a predictor of a single replica, the steps it took, how it ended (gpuclf.train.loop)."""

    predictor: Predictor
    steps: int
    status: str

    @property
    def diverged(self) -> bool:
        return self.status == DIVERGED

    @property
    def at_limit(self) -> bool:
        """The number of steps ended it, not the learner."""
        return self.status == LAST_STEP


def make_problem(data: Rows, train: Tensor, setups: Sequence[Setup], views: Sequence[int]) -> Problem:
    """The problem of models `setups`, model i on the rows train[views[i]]; train (views, docs) bool."""
    device = setups[0].device
    values = {
        key: torch.tensor([float(getattr(one.model, key.partition(".")[2])) for one in setups], dtype=torch.float64)
        for key in sorted(setups[0].per_replica)
    }
    replicas = Replicas(torch.tensor(views), torch.tensor([one.seed for one in setups]), values)
    return Problem(
        rows=rows_to(data.rows, device),
        labels=torch.from_numpy(data.labels).to(device),
        keys=torch.from_numpy(_keys(data.rows)).to(device),
        num_classes=len(data.class_names),
        views=Views(train.to(device)),
        replicas=replicas.to(device),
        weights=None if data.weights is None else torch.from_numpy(data.weights).to(device),
    )


def _keys(rows: SparseRows | CodeRows) -> NDArray[np.int64]:
    """A key for each row; learners of codes visit all rows at once, and their draws ask for none."""
    return content_keys(rows) if isinstance(rows, SparseRows) else np.arange(rows.num_docs, dtype=np.int64)


def train_one(data: Rows, setup: Setup, adapted: Callable[[Learner], Learner] = lambda learner: learner) -> Trained:
    """One model on all rows; `adapted` may wrap its learner."""
    problem = make_problem(data, torch.ones((1, data.rows.num_docs), dtype=torch.bool), [setup], [0])
    outcome = _run(adapted(setup.model.build(setup.train, data.class_names)), problem, setup)
    return Trained(settled(outcome.predictor), outcome.steps[0], outcome.status[0])


def train_many(data: Rows, train: Tensor, setups: Sequence[Setup], views: Sequence[int]) -> list[Trained]:
    """Models of one structure, model i on the rows train[views[i]]: one batch, or as many as memory demands."""
    order = sorted(range(len(setups)), key=lambda i: (views[i], setups[i].seed))  # who sees the same rows, neighbours
    first = setups[0]
    each = first.model.bytes_per_replica(data.rows.num_features, len(data.class_names))
    limit = max(1, batch_bytes(first.train, first.device) // max(1, each))
    trained: dict[int, Trained] = {}
    for start in range(0, len(order), limit):
        chosen = order[start : start + limit]
        problem = make_problem(data, train, [setups[i] for i in chosen], [views[i] for i in chosen])
        outcome = _run(first.model.build(first.train, data.class_names), problem, first)
        for place, i in enumerate(chosen):
            predictor = settled(take_replicas(outcome.predictor, torch.tensor([place])))
            trained[i] = Trained(predictor, outcome.steps[place], outcome.status[place])
    return [trained[i] for i in range(len(setups))]


def _run(learner: Learner, problem: Problem, setup: Setup) -> BatchOutcome:
    return BatchLoop(learner, problem, setup.train, max_steps(setup.model, setup.train)).run(_nothing_more)


def _nothing_more(report: Any, loop: BatchLoop) -> None:
    """After a step there is nothing to log and nothing to save."""
