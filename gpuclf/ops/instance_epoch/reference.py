"""The epoch in plain torch: one row at a time, all replicas of a stream at once; any device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from gpuclf.ops.instance_epoch.decision import confident_step
from gpuclf.ops.instance_epoch.records import FOLD_BELOW, SMALLEST_SIGMA, InstanceModel, InstanceRule
from gpuclf.ops.online_epoch.decision import first_argmax
from gpuclf.ops.online_epoch.records import Counts, ScaledRows, Streams, no_counts
from gpuclf.ops.online_epoch.reference import row_of

Row = tuple[Tensor, Tensor, Tensor]  # columns (m,), values (m,), label ()
Scored = tuple[Tensor, Tensor, Tensor, Tensor]  # and scores (R', K)
Decided = tuple[Tensor, Tensor, Tensor, Callable[[Tensor], Tensor], Tensor, Tensor]


def instance_epoch(
    rows: ScaledRows, streams: Streams, rule: InstanceRule, model: InstanceModel, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.instance_epoch`."""
    counts = no_counts(model.steps)
    bounds = streams.start.tolist()
    for g, view in enumerate(streams.view.tolist()):
        walker = (_Decay if rule.kind == "svm" else _Confidence).of(rule, model, slice(bounds[g], bounds[g + 1]))
        for part in streams.order[g][streams.order[g] >= 0].split(batch):
            if part.numel():
                walker.visit([row_of(rows, view, n, torch.float64) for n in part.tolist()], counts, mean)
        walker.end()
    return counts


@dataclass
class _Walker:
    """The replicas `at` of one stream; `seen` (R',) float64 instances before the one that is visited."""

    rule: InstanceRule
    model: InstanceModel
    at: slice
    first: Tensor
    second: Tensor
    seen: Tensor
    scale: Tensor
    total: Tensor

    @classmethod
    def of(cls, rule: InstanceRule, model: InstanceModel, at: slice) -> _Walker:
        first, second = (number[at] for number in rule.numbers())
        seen = model.steps[at].to(torch.float64)
        return cls(rule, model, at, first, second, seen, torch.ones_like(seen), seen.clone())

    def visit(self, rows: list[Row], counts: Counts, mean: bool) -> None:
        """The rows of a batch, scored with the same weights."""
        scored = [(*row, torch.einsum("i,irk->rk", row[1], self._read(self.model.weights, row[0]))) for row in rows]
        if self.model.weights.shape[2] > 1:
            for _, _, label, scores in scored:
                counts.mistakes[self.at] += first_argmax(scores) != label
            for updated, loss in self.learn(scored, mean):
                counts.updates[self.at] += updated
                counts.loss[self.at] += loss
        self.seen += len(rows)

    def learn(self, scored: list[Scored], mean: bool) -> list[tuple[Tensor, Tensor]]:
        """Changes the model; for each row whether it did, and the violation, (R',) each."""
        raise AssertionError

    def end(self) -> None:
        """After the last row."""

    def _read(self, state: Tensor, columns: Tensor | slice) -> Tensor:
        return state[columns, self.at].to(torch.float64)

    def _write(self, state: Tensor, columns: Tensor | slice, values: Tensor) -> None:
        state[columns, self.at] = values.to(state.dtype)

    def _add(self, columns: Tensor, change: Tensor, before: Tensor, loss: Tensor) -> Tensor:
        """Adds change (m, R', K) to the weights, before · change to the sums; the loss, NaN where that overflows."""
        self._write(self.model.weights, columns, self._read(self.model.weights, columns) + change)
        finite = torch.isfinite(self.model.weights[columns, self.at])
        if self.model.sums is not None:
            sums = self._read(self.model.sums, columns) + before[:, None] * change
            self._write(self.model.sums, columns, sums)
            finite = finite & torch.isfinite(self.model.sums[columns, self.at])
        return torch.where(finite.all(2).all(0), loss, torch.nan)


class _Confidence(_Walker):
    def learn(self, scored: list[Scored], mean: bool) -> list[tuple[Tensor, Tensor]]:
        share = 1.0 / len(scored) if mean else 1.0
        decided = [self._decide(*row, share) for row in scored]
        found = [(row[4], self._add(row[0], row[1], self.seen, row[5])) for row in decided]
        for columns, _, touched, shrink, _, _ in decided:
            assert self.model.covariance is not None
            sigma = self._read(self.model.covariance, columns)
            shrunk = shrink(sigma).clamp(min=SMALLEST_SIGMA)
            self._write(self.model.covariance, columns, torch.where(touched, shrunk, sigma))
        return found

    def _decide(self, columns: Tensor, x: Tensor, label: Tensor, scores: Tensor, share: float) -> Decided:
        """A row's change of the weights, the cells whose σ it shrinks, and how; whether it does, and its violation."""
        assert self.model.covariance is not None
        classes = scores.shape[1]
        gold = one_hot(label, classes).bool()
        lowest = torch.finfo(scores.dtype).min
        rival = first_argmax(scores.nan_to_num(nan=lowest).masked_fill(gold, -torch.inf))
        is_rival = one_hot(rival, classes).bool()
        m = scores[:, label] - scores.gather(1, rival[:, None])[:, 0]
        sigma = self._read(self.model.covariance, columns)
        square = (x * x)[:, None, None]
        touched = gold | is_rival
        v = torch.where(touched, square * sigma, 0.0).sum((0, 2))
        alpha, rho, beta, loss = confident_step(self.rule, self.first, self.second, m, v)
        updated = alpha > 0
        touched = touched & updated[:, None]
        sign = torch.where(touched, gold.to(torch.float64) - is_rival.to(torch.float64), 0.0)
        alpha, rho, beta = share * alpha, share * rho, share * beta
        change = torch.where(touched, sign * alpha[:, None] * sigma * x[:, None, None], 0.0)

        def shrink(sigma: Tensor) -> Tensor:
            if self.rule.diagonal == "precision":
                return sigma / (1.0 + rho[:, None] * square * sigma)
            return sigma * (1.0 - beta[:, None] * square * sigma)

        return columns, change, touched, shrink, updated, loss


class _Decay(_Walker):
    """scale is a, total A of `gpuclf.ops.instance_epoch`."""

    def learn(self, scored: list[Scored], mean: bool) -> list[tuple[Tensor, Tensor]]:
        ((columns, x, label, scores),) = scored  # one row: there are no batches here
        classes, t = scores.shape[1], self.seen + 1.0
        if self.rule.eta is None:
            rate, keep = 1.0 / (self.second * t), torch.where(t > 1.0, 1.0 - 1.0 / t, 1.0)
        else:
            rate, keep = self.first, 1.0 - self.second
        gold = one_hot(label, classes).to(torch.float64)
        height = self.scale[:, None] * scores + (1.0 - gold if self.rule.cost is None else self.rule.cost[label])
        rival = first_argmax(height.nan_to_num(nan=torch.finfo(height.dtype).min))
        loss = height.gather(1, rival[:, None])[:, 0] - self.scale * scores[:, label]
        self.scale = self.scale * keep
        updated = rival != label
        amount = torch.where(updated, rate / self.scale, 0.0)[:, None] * (gold - one_hot(rival, classes))
        loss = self._add(columns, amount * x[:, None, None], self.total, loss)
        self.total = self.total + self.scale
        self._fold(self.scale < FOLD_BELOW, t)
        return [(updated, loss)]

    def end(self) -> None:
        self._fold(self.scale != 1.0, self.seen)

    def _fold(self, which: Tensor, seen: Tensor) -> None:
        """The weights of the replicas `which` take over their scale, after `seen` instances."""
        if not bool(which.any()):
            return
        everything, scale = slice(None), torch.where(which, self.scale, 1.0)
        weights = self._read(self.model.weights, everything)
        if self.model.sums is not None:
            more = torch.where(which, seen * scale - self.total, 0.0)[:, None] * weights
            self._write(self.model.sums, everything, self._read(self.model.sums, everything) + more)
        self._write(self.model.weights, everything, scale[:, None] * weights)
        self.total = torch.where(which, seen, self.total)
        self.scale = torch.where(which, 1.0, self.scale)
