"""The online epoch by blocks of rows: matrix products for everything but a short walk. Runs on any device.

The exact algorithm, rearranged (see the walk for why nothing changes): take the next B rows of every stream; compact
the block's distinct columns to a dense X (B, U); the base scores S = X W[columns] and the Gram matrix X Xᵀ are matrix
products; walk the B rows, where an update at row a moves the scores of row b by alpha · (X Xᵀ)[a, b]; then add all
updates to the weights as one product Xᵀ · coefficients, each cell written once: no atomics, the same bits every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from gpuclf.ops.full_precision import full_precision
from gpuclf.ops.online_epoch.decision import Decision, decide
from gpuclf.ops.online_epoch.records import Counts, Model, Rule, ScaledRows, Streams, no_counts

# (rule, C (G, R'), gamma (G, R'), scores (G, B, R', K), gram (G, B, B), label (G, B), valid (G, B))
#   -> Decision of (G, B, R'); alpha is 0 where a row is not valid
Walk = Callable[[Rule, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor], Decision]

BLOCK = 64  # rows of an exact block: the walk's work grows with its square, the number of launches falls with it
FROZEN_BLOCK = 256  # rows scored together in a minibatch, where nothing is walked


def online_epoch_blocks(
    rows: ScaledRows,
    streams: Streams,
    rule: Rule,
    model: Model,
    batch: int,
    mean: bool,
    walk: Walk,
    block: int = BLOCK,
) -> Counts:
    """`gpuclf.ops.online_epoch` by blocks; streams with equally many replicas go together."""
    counts = no_counts(model.steps)
    sizes = streams.start[1:] - streams.start[:-1]
    with full_precision():
        for size in sizes.unique().tolist():
            chosen = torch.nonzero(sizes == size)[:, 0]
            if size:
                replicas = streams.start[chosen, None] + torch.arange(size, device=chosen.device)
                group = _Group(rows, streams.order[chosen], streams.view[chosen], replicas, rule, model, counts)
                group.run(batch, mean, walk, block)
    return counts


@dataclass(frozen=True)
class _Block:
    """Rows of G streams on their own columns: x (G, B, U); label, valid (G, B).

    Pair p of P is column[p] of stream[p], at slot[p] of x's last axis; pairs are distinct, unused slots hold 0.
    """

    x: Tensor
    label: Tensor
    valid: Tensor
    stream: Tensor
    slot: Tensor
    column: Tensor


def compact(rows: ScaledRows, order: Tensor, view: Tensor, columns: int, dtype: torch.dtype) -> _Block:
    """The block of the rows order (G, B), -1 for none, under each stream's view (G,)."""
    streams, size = order.shape
    device = order.device
    valid, n = order >= 0, order.clamp(min=0).flatten()
    length = torch.where(valid.flatten(), rows.crow[n + 1] - rows.crow[n], 0)
    place = torch.repeat_interleave(torch.arange(n.numel(), device=device), length)  # row of the block per non-zero
    first = torch.cumsum(length, 0) - length
    position = torch.arange(place.numel(), device=device) + (rows.crow[n] - first)[place]
    col, x = rows.col[position].long(), rows.val[position].to(dtype)
    if rows.col_scale is not None:
        x = x * rows.col_scale[view[place // size], col].to(dtype)
    if rows.row_scale is not None:
        x = x * rows.row_scale[view[place // size], n[place]].to(dtype)
    kept, offsets = x != 0, torch.nonzero(valid.flatten())[:, 0]
    place = torch.cat([offsets, place[kept]])
    col = torch.cat([torch.zeros_like(offsets), col[kept]])
    x = torch.cat([x.new_ones(offsets.numel()), x[kept]])

    pair, of_pair = torch.unique(place // size * columns + col, return_inverse=True)
    stream, column = pair // columns, pair % columns
    width = torch.bincount(stream, minlength=streams)
    slot = torch.arange(pair.numel(), device=device) - (torch.cumsum(width, 0) - width)[stream]
    dense = x.new_zeros((streams, size, int(width.max())))
    dense[place // size, place % size, slot[of_pair]] = x
    return _Block(dense, rows.labels[n].view(streams, size).masked_fill(~valid, 0), valid, stream, slot, column)


@dataclass(frozen=True)
class _Group:
    """Streams with equally many replicas: order (G, T), view (G,), replicas (G, R')."""

    rows: ScaledRows
    order: Tensor
    view: Tensor
    replicas: Tensor
    rule: Rule
    model: Model
    counts: Counts

    def run(self, batch: int, mean: bool, walk: Walk, block: int) -> None:
        length = int((self.order >= 0).sum(1).max()) if self.order.numel() else 0
        if batch == 1:
            for begin in range(0, length, block):
                part = self._block(begin, min(begin + block, length))
                gram = part.x @ part.x.transpose(1, 2)
                decision = walk(self.rule, *self._options(), self._scores(part), gram, part.label, part.valid)
                rank = torch.arange(begin, begin + part.label.shape[1], device=self.order.device)
                self._apply(part, decision, decision.alpha, rank)
            return
        for begin in range(0, length, batch):
            end = min(begin + batch, length)
            cuts = [*range(begin, end, FROZEN_BLOCK), end]
            parts = [self._block(a, b) for a, b in pairwise(cuts)]
            decisions = [self._frozen(part) for part in parts]
            size = (self.order[:, begin:end] >= 0).sum(1).clamp(min=1)[:, None, None]
            for part, decision in zip(parts, decisions, strict=True):
                share = decision.alpha / size if mean else decision.alpha
                self._apply(part, decision, share, torch.full_like(part.label[0], begin))

    def _options(self) -> tuple[Tensor, Tensor]:
        return self.rule.C[self.replicas], self.rule.gamma[self.replicas]

    def _block(self, begin: int, end: int) -> _Block:
        weights = self.model.weights
        return compact(self.rows, self.order[:, begin:end], self.view, weights.shape[0], weights.dtype)

    def _scores(self, part: _Block) -> Tensor:
        """S (G, B, R', K) of the block with the weights as they stand."""
        streams, size, width = part.x.shape
        weights = self.model.weights
        gathered = weights.new_zeros((streams, width, self.replicas.shape[1], weights.shape[2]))
        gathered[part.stream, part.slot] = weights[part.column[:, None], self.replicas[part.stream]]
        return (part.x @ gathered.flatten(2)).view(streams, size, *gathered.shape[2:])

    def _frozen(self, part: _Block) -> Decision:
        """Decisions of all rows with the same weights, as in a minibatch."""
        C, gamma = self._options()
        square = part.x.to(torch.float64).square().sum(-1)[..., None]
        made = decide(self.rule, C[:, None], gamma[:, None], self._scores(part), part.label[..., None], square)
        return only_valid(made, part.valid)

    def _apply(self, part: _Block, decision: Decision, share: Tensor, rank: Tensor) -> None:
        """Add share (G, B, R') · direction · x to the weights and count; row b was visited after rank[b] others."""
        weights, sums = self.model.weights, self.model.sums
        change = share[..., None] * decision.direction(part.label[..., None], weights.shape[2])
        self._scatter(weights, part, change)
        if sums is not None:
            before = self.model.steps[self.replicas][:, None] + rank[:, None]  # (G, B, R')
            self._scatter(sums, part, before[..., None] * change)
        at = self.replicas.flatten()
        self.counts.mistakes[at] += decision.mistake.sum(1).flatten()
        self.counts.updates[at] += (decision.alpha > 0).sum(1).flatten()
        self.counts.loss[at] += decision.loss.sum(1).flatten()
        if self.model.limited is not None:
            self.model.limited[at] |= decision.limited.any(1).flatten()

    def _scatter(self, target: Tensor, part: _Block, change: Tensor) -> None:
        total = part.x.transpose(1, 2) @ change.flatten(2).to(target.dtype)  # (G, U, R'·K)
        total = total.view(*total.shape[:2], *change.shape[2:])
        target[part.column[:, None], self.replicas[part.stream]] += total[part.stream, part.slot]


def only_valid(decision: Decision, valid: Tensor) -> Decision:
    """The decision with nothing done and nothing counted where valid (G, B) is false."""
    kept = valid[..., None]
    alpha, loss = torch.where(kept, decision.alpha, 0.0), torch.where(kept, decision.loss, 0.0)
    return Decision(alpha, decision.rival, decision.mistake & kept, loss, decision.limited & kept)
