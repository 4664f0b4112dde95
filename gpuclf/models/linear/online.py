"""Online learners: one instance at a time by an exact rule, or a batch of them with the same weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from gpuclf.features.rows import SparseRows
from gpuclf.models.learner import EPOCHS, Problem
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.counter_hash import visiting_order
from gpuclf.ops.online_epoch import Counts, ScaledRows, Streams

TRAIN_KEYS = frozenset({"max_epochs", "shuffle", "batch", "batch_update", "tol", "early_stopping", "evaluate_every"})
WHOLE_STEPS = "an online rule makes a whole step for a document or none; repeat documents that count more"
_FEATURES = 4096  # features whose weights are compared at once


@dataclass(frozen=True)
class OnlineState:
    """After `epoch` epochs; every tensor has one entry per replica.

    weights and sums (V+1, R, K) float32, sums None without averaging: the average is weights - sums / steps;
    steps (R,) int64 instances seen, those to come counted ahead where they change nothing (see `step`);
    covariance (V+1, R, K) float32 of the rules that have one, else None;
    limited (R,) bool: C has decided a step's length (see gpuclf.ops.online_epoch.Model);
    previous (V+1, R, K): the result one epoch earlier, kept only for `tol`;
    change (R,) float64: relative change of the result in the last epoch, inf before there is one;
    mistakes, updates (R,) int64, loss (R,) float64: of the last epoch.
    """

    epoch: int
    weights: Tensor = replica_field(1)
    sums: Tensor | None = replica_field(1)
    covariance: Tensor | None = replica_field(1)
    previous: Tensor | None = replica_field(1)
    steps: Tensor = replica_field()
    limited: Tensor = replica_field()
    change: Tensor = replica_field()
    mistakes: Tensor = replica_field()
    updates: Tensor = replica_field()
    loss: Tensor = replica_field()


class OnlineRule(Protocol):
    """What an online learner does with the rows of an epoch: see gpuclf.models.linear.online_rules."""

    @property
    def has_covariance(self) -> bool:
        """Whether the state holds a covariance; it begins at 1."""
        ...

    def epoch(
        self, problem: Problem, rows: ScaledRows, streams: Streams, state: OnlineState, train: TrainOptions
    ) -> Counts:
        """One epoch. Changes the tensors of the state in place, steps among them."""
        ...

    def lasting(self, problem: Problem) -> Tensor:
        """(R,) bool: replicas that an epoch without an update leaves as they are, and so does every later one."""
        ...


@dataclass(frozen=True)
class OnlineLearner:
    """Runs an online rule; a step is an epoch."""

    train: TrainOptions
    average: bool
    rule: OnlineRule

    def init(self, problem: Problem) -> OnlineState:
        """All weights zero."""
        assert isinstance(problem.rows, SparseRows), "an online linear learner works on sparse rows"
        replicas, device = len(problem.replicas), problem.labels.device
        shape = (problem.rows.num_features + 1, replicas, problem.num_classes)
        zeros = torch.zeros(replicas, dtype=torch.int64, device=device)
        return OnlineState(
            epoch=0,
            weights=_zeros(shape, device),
            sums=_zeros(shape, device) if self.average else None,
            covariance=_zeros(shape, device).fill_(1.0) if self.rule.has_covariance else None,
            previous=_zeros(shape, device) if self.train.tol is not None else None,
            steps=zeros,
            limited=torch.zeros_like(zeros, dtype=torch.bool),
            change=torch.full((replicas,), torch.inf, dtype=torch.float64, device=device),
            mistakes=zeros.clone(),
            updates=zeros.clone(),
            loss=torch.zeros(replicas, dtype=torch.float64, device=device),
        )

    def step(self, problem: Problem, state: OnlineState) -> OnlineState:
        """One epoch. The old state's weights, sums, covariance, steps, limited and previous are reused.

        A replica that made no update mostly would make none in any later epoch either. It is finished; so that its
        average is that over max_epochs epochs, as if it had run on, the instances of those to come are counted at once.
        """
        rows, views = problem.rows, problem.views
        assert isinstance(rows, SparseRows), "an online linear learner works on sparse rows"
        scaled = ScaledRows(rows.crow, rows.col, rows.val, problem.labels, views.col_scale, views.row_scale)
        streams = streams_of(problem, state.epoch, self.train.shuffle)
        counts = self.rule.epoch(problem, scaled, streams, state, self.train)
        change = state.change
        if state.previous is not None:
            change = _remember(state.weights, state.sums, state.steps, state.previous)
        steps = state.steps
        if self.train.tol is None and self.train.early_stopping is None:  # else fewer epochs may be wanted
            epochs = self._epochs(problem).clamp(min=state.epoch + 1)
            settled = (counts.updates == 0) & self.rule.lasting(problem)
            steps = torch.where(settled, epochs * _instances(problem), steps)
        return replace(
            state,
            epoch=state.epoch + 1,
            steps=steps,
            change=change,
            mistakes=counts.mistakes,
            updates=counts.updates,
            loss=counts.loss,
        )

    def _epochs(self, problem: Problem) -> Tensor:
        """(R,) int64: how many epochs there may be, of each replica."""
        everyones = torch.full((len(problem.replicas),), self.train.max_epochs, device=problem.labels.device)
        return problem.replicas.options.get(EPOCHS, everyones).to(torch.int64)

    def finished(self, problem: Problem, state: OnlineState) -> Tensor:
        """An epoch without an update changes nothing for good; with `tol`, so does a small change (2.3.2)."""
        done = (state.updates == 0) & self.rule.lasting(problem)
        if self.train.tol is not None:
            done = done | (state.change <= self.train.tol)
        return done if state.epoch else torch.zeros_like(done)

    def result(self, problem: Problem, state: OnlineState) -> LinearPredictor:
        """The averaged model, or the last weights without averaging."""
        return LinearPredictor(averaged(state.weights, state.sums, state.steps), None)

    def alternatives(self, problem: Problem, state: OnlineState) -> dict[str, LinearPredictor]:
        """The last weights beside the averaged ones."""
        return {"final": LinearPredictor(averaged(state.weights, None, state.steps), None)} if self.average else {}

    def progress(self, problem: Problem, state: OnlineState) -> dict[str, Tensor]:
        """Of the last epoch: wrong predictions, updates, and the mean loss an instance as it was visited."""
        loss = state.loss / _instances(problem).clamp(min=1)
        figures = {"mistakes": state.mistakes, "updates": state.updates, "loss": loss}
        return figures if self.train.tol is None else {**figures, "change": state.change}


def streams_of(problem: Problem, epoch: int, shuffle: bool) -> Streams:
    """The streams of one epoch: neighbouring replicas of one (view, seed), over the view's labelled training rows."""
    device = problem.labels.device
    replicas = problem.replicas
    pairs = torch.stack([replicas.view, replicas.seed], 1).cpu()
    pairs, sizes = torch.unique_consecutive(pairs, dim=0, return_counts=True)
    start = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)])
    everything = torch.arange(problem.labels.numel(), device=device)
    by_seed: dict[int, Tensor] = {}
    orders = []
    for view, seed in pairs.tolist():
        if seed not in by_seed:
            by_seed[seed] = visiting_order(seed, epoch, problem.keys) if shuffle else everything
        order = by_seed[seed]
        orders.append(order[(problem.views.train[view] & (problem.labels >= 0))[order]])
    padded = torch.nn.utils.rnn.pad_sequence(orders, batch_first=True, padding_value=-1)
    return Streams(padded, pairs[:, 0].to(device), start.to(device))


def online_bytes(num_features: int, num_classes: int, average: bool, covariance: bool = False) -> int:
    """Of a replica: weights, the copy that is evaluated, and the sums and the covariance where there are some."""
    return 4 * (num_features + 1) * num_classes * (2 + average + covariance)


def _instances(problem: Problem) -> Tensor:
    """(R,) int64: labelled training rows of each replica, which are the instances of one of its epochs."""
    return (problem.views.train & (problem.labels >= 0)).sum(1)[problem.replicas.view]


def averaged(weights: Tensor, sums: Tensor | None, steps: Tensor) -> Tensor:
    """The mean of the weights after each instance seen; a copy of the weights where there is nothing to average."""
    out = _like(weights)
    if sums is None:
        return out.copy_(weights)
    factor = (-1.0 / steps.clamp(min=1).to(torch.float64)).to(weights.dtype)
    return torch.addcmul(weights, sums, factor[:, None], out=out)


def _remember(weights: Tensor, sums: Tensor | None, steps: Tensor, previous: Tensor) -> Tensor:
    """|new - old| / |new| per replica, in float64, 0 where both are zero; `previous` becomes the new result."""
    moved = torch.zeros(steps.numel(), dtype=torch.float64, device=steps.device)
    length = moved.clone()
    for start in range(0, weights.shape[0], _FEATURES):
        part = slice(start, start + _FEATURES)
        new = averaged(weights[part], None if sums is None else sums[part], steps)
        moved += (new - previous[part]).to(torch.float64).square().sum((0, 2))
        length += new.to(torch.float64).square().sum((0, 2))
        previous[part] = new
    return torch.where(moved == 0, 0.0, torch.sqrt(moved / length))


def _zeros(shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Zeros, on the CPU from numpy: it asks for huge pages, which the scattered reads of an epoch gain from."""
    if device.type == "cpu":
        return torch.from_numpy(np.zeros(shape, dtype=np.float32))
    return torch.zeros(shape, device=device)


def _like(weights: Tensor) -> Tensor:
    """Memory for as many weights: fresh huge pages of numpy's cost half the time of small ones."""
    if weights.device.type == "cpu":
        return torch.from_numpy(np.empty(tuple(weights.shape), dtype=weights.numpy().dtype))
    return torch.empty_like(weights)
