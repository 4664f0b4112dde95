"""The online epoch in plain torch: one batch of rows at a time, all replicas of a stream at once; any device."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.online_epoch.decision import Decision, decide
from gpuclf.ops.online_epoch.records import Counts, Model, Rule, ScaledRows, Streams, no_counts


def online_epoch(
    rows: ScaledRows, streams: Streams, rule: Rule, model: Model, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.online_epoch`."""
    counts = no_counts(model.steps)
    bounds = streams.start.tolist()
    for g, view in enumerate(streams.view.tolist()):
        replicas = slice(bounds[g], bounds[g + 1])
        order = streams.order[g][streams.order[g] >= 0]
        for begin in range(0, order.numel(), batch):
            batch_rows = [row_of(rows, view, n, model.weights.dtype) for n in order[begin : begin + batch].tolist()]
            decided = [_decide(rule, replicas, model, *row) for row in batch_rows]
            for (columns, x, label), decision in zip(batch_rows, decided, strict=True):
                share = decision.alpha / len(batch_rows) if mean else decision.alpha
                change = share[:, None] * decision.direction(label, model.weights.shape[2])  # (replicas, classes)
                _add(model.weights, columns, x, replicas, change)
                if model.sums is not None:
                    before = (model.steps[replicas] + begin)[:, None]
                    _add(model.sums, columns, x, replicas, before * change)
                counts.mistakes[replicas] += decision.mistake
                counts.updates[replicas] += decision.alpha > 0
                counts.loss[replicas] += decision.loss
                if model.limited is not None:
                    model.limited[replicas] |= decision.limited
    return counts


def row_of(rows: ScaledRows, view: int, n: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Columns (m,) and values (m,) of a row under a view, the offset first, and its label ()."""
    inside = slice(int(rows.crow[n]), int(rows.crow[n + 1]))
    columns, x = rows.col[inside].long(), rows.val[inside].to(dtype)
    if rows.col_scale is not None:
        x = x * rows.col_scale[view, columns].to(dtype)
    if rows.row_scale is not None:
        x = x * rows.row_scale[view, n].to(dtype)
    kept = x != 0
    offset = torch.zeros(1, dtype=torch.int64, device=columns.device)
    return torch.cat([offset, columns[kept]]), torch.cat([x.new_ones(1), x[kept]]), rows.labels[n]


def _decide(rule: Rule, replicas: slice, model: Model, columns: Tensor, x: Tensor, label: Tensor) -> Decision:
    scores = torch.einsum("i,irk->rk", x, model.weights[columns, replicas])
    square = x.to(torch.float64).square().sum()
    return decide(rule, rule.C[replicas], rule.gamma[replicas], scores, label, square)


def _add(weights: Tensor, columns: Tensor, x: Tensor, replicas: slice, change: Tensor) -> None:
    weights[columns, replicas] += x[:, None, None] * change.to(weights.dtype)
