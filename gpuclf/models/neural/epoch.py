"""One epoch of some replicas that have equally many documents: portion by portion, forwards, backwards, update.

Everything that looks like chance is a hash: the order of documents of (seed, epoch, document), dropout of (seed, epoch,
layer, document, unit). So a replica's epoch is the same whatever trains beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import TokenRows
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.neural.initial import layer_key
from gpuclf.models.neural.losses import LossName
from gpuclf.models.neural.network import Network, Portion
from gpuclf.models.neural.portions import Entries, entries_of
from gpuclf.models.neural.text_cnn import Spans
from gpuclf.ops.counter_hash import hash64, uniform, visiting_order
from gpuclf.ops.keyed_uniform import keyed_uniform
from gpuclf.ops.table_epoch import Steps, UpdateRule, Weights, table_epoch, update_all
from gpuclf.optim.rate_schedule import RateSchedule

_INPUT, _HIDDEN = layer_key("input"), layer_key("hidden")
_SMALLEST, _LARGEST, _PORTIONS = 32, 512, 200  # batch: auto


@dataclass(frozen=True)
class EpochPlan:
    """How an epoch is made. clip: the largest norm of a gradient (3.43), None without; frozen: the table stays as it
    is; low: products in bfloat16; compiled: by torch.compile. batch auto: see `batch_of`."""

    batch: int | Literal["auto"]
    shuffle: bool
    loss: LossName
    clip: float | None = None
    frozen: bool = False
    low: bool = False
    compiled: bool = False

    def batch_of(self, documents: int) -> int:
        """Documents of a portion. auto: the least power of two from 32 to 512 with at most 200 portions an epoch: small
        portions learn most from an epoch, large ones cost least."""
        if self.batch != "auto":
            return self.batch
        size = _SMALLEST
        while size < _LARGEST and size * _PORTIONS < documents:
            size *= 2
        return size


class EpochFigures(NamedTuple):
    """(R,) float64 each; see NeuralState."""

    loss: Tensor
    rate: Tensor
    norm: Tensor
    dead: Tensor


class _Visits(NamedTuple):
    """A replica's documents in the order of their visit: labels, keys (docs,) int64, and their entries."""

    labels: Tensor
    keys: Tensor
    entries: Entries


def run_epoch(
    problem: Problem,
    replicas: Replicas,
    plan: EpochPlan,
    rule: UpdateRule,
    schedule: RateSchedule,
    options: dict[str, Tensor],
    progress: tuple[int, Tensor, Tensor],
    network: Network,
    table: Weights,
    weights: Weights,
    buffers: Tensor,
) -> EpochFigures:
    """Changes table, weights and buffers in place. options: (R,) by config key; progress: the epoch (from 0), updates
    made before it and the scale of the rate, (R,)."""
    device = problem.labels.device
    if device.type == "cpu":
        torch.set_num_threads(1)  # bits must not depend on how many threads there are; the caller sets it back
    epoch, before, scale = progress
    visits = [_visits(problem, replicas, r, epoch, plan.shuffle, network.shape.gap) for r in range(len(replicas))]
    documents = visits[0].labels.numel()
    bounds = _bounds(documents, plan.batch_of(documents), bool(network.buffers))
    rates = schedule.factors(epoch, len(bounds)).to(device)[:, None] * options["train.learning_rate"] * scale
    steps = Steps(rates, options["train.weight_decay"], before)
    opened = table_epoch(table, rule, steps)
    decayed = network.decayed(weights.value.dtype, device)
    loss = torch.zeros(len(replicas), dtype=torch.float64, device=device)
    norms, alive = loss.clone(), torch.zeros(len(replicas), sum(network.shape.widths()), dtype=torch.bool)
    for step, (start, stop) in enumerate(bounds):
        parts = [visit.entries.part(start, stop) for visit in visits]
        keys = torch.stack([visit.keys[start:stop] for visit in visits])
        crow, col, val = _joined(_dropped(parts, keys, problem, replicas, epoch, options))
        sums = opened.sums(crow, col, val)
        portion = _portion(visits, parts, keys, (start, stop), network, replicas, epoch, options, sums)
        run = network.gradients if len(replicas) == 1 else network.gradients_mapped
        made = run(
            weights.value, buffers, sums.view(len(replicas), -1, sums.shape[1]), portion, plan.loss,
            not plan.frozen, plan.low,
        )  # fmt: skip
        gradient, rows, of_rows = made.parameters, None, None
        squares = gradient.square().sum(1).to(torch.float64)
        if made.sums is not None:
            rows, of_rows = opened.gradients(crow, col, val, made.sums.reshape(sums.shape))
            replica = rows // table.value.shape[1]
            squares = squares.index_put((replica,), of_rows.norm(dim=1).to(torch.float64).square(), accumulate=True)
        norm = squares.sqrt()
        if plan.clip is not None:
            factor = (plan.clip / norm.clamp(min=1e-12)).clamp(max=1.0).to(gradient.dtype)
            gradient = gradient * factor[:, None]
            if rows is not None and of_rows is not None:
                of_rows.mul_(factor[replica][:, None])
        if rows is not None and of_rows is not None:
            opened.update(rows, of_rows)
        update_all(weights, gradient, rule, steps, step, decayed)
        loss += made.loss.to(torch.float64) * (stop - start)
        norms += norm
        alive |= made.alive.cpu()
    opened.settle()
    dead = (~alive).to(torch.float64).mean(1) if alive.shape[1] else torch.zeros(len(replicas), dtype=torch.float64)
    return EpochFigures(loss / documents, rates[-1], norms / len(bounds), dead.to(device))


def _visits(problem: Problem, replicas: Replicas, r: int, epoch: int, shuffle: bool, gap: int) -> _Visits:
    view, seed = int(replicas.view[r]), int(replicas.seed[r])
    everything = torch.arange(problem.labels.numel(), device=problem.labels.device)
    order = visiting_order(seed, epoch, problem.keys) if shuffle else everything
    docs = order[(problem.views.train[view] & (problem.labels >= 0))[order]]
    if not docs.numel():
        raise UserFault("a training set has no labelled document", remedy="give more data or fewer folds")
    scales = problem.views.col_scale, problem.views.row_scale
    col_scale, row_scale = (None if s is None else s[view] for s in scales)
    entries = entries_of(problem.rows, docs, col_scale, row_scale, gap, torch.float32)
    return _Visits(problem.labels[docs], problem.keys[docs], entries)


def _bounds(documents: int, batch: int, norm_of_batch: bool) -> list[tuple[int, int]]:
    """First document of each portion and the one after its last. With batch norm a document that is left over alone
    joins the portion before: one document has no variance."""
    edges = [*range(0, documents, batch), documents]
    if norm_of_batch and len(edges) > 2 and edges[-1] - edges[-2] == 1:
        del edges[-2]
    return list(itertools.pairwise(edges))


def _joined(parts: Sequence[Entries]) -> tuple[Tensor, Tensor, Tensor]:
    """crow, col, val of all replicas, each filled up with empty rows to the most rows that one has."""
    if len(parts) == 1:
        return parts[0].crow, parts[0].col, parts[0].val
    rows = max(part.crow.numel() for part in parts) - 1
    counts = [torch.nn.functional.pad(part.crow.diff(), (0, rows + 1 - part.crow.numel())) for part in parts]
    lengths = torch.cat(counts)
    crow = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    return crow, torch.cat([part.col for part in parts]), torch.cat([part.val for part in parts])


def _dropped(
    parts: Sequence[Entries],
    keys: Tensor,
    problem: Problem,
    replicas: Replicas,
    epoch: int,
    options: dict[str, Tensor],
) -> Sequence[Entries]:
    """The entries with dropout of the features of sparse rows: a factor of 0 or 1 / (1 - p) for each."""
    drop = options["model.input_dropout"]
    if isinstance(problem.rows, TokenRows) or not bool((drop > 0).any()):
        return parts
    out = []
    for r, part in enumerate(parts):
        row_keys = hash64(replicas.seed[r], epoch, _INPUT, keys[r])
        feature = part.col if problem.feature_keys is None else problem.feature_keys[part.col]
        draws = uniform(hash64(row_keys[torch.repeat_interleave(part.crow.diff())], feature))
        val = part.val * _factor(draws, drop[r], part.val.dtype)
        out.append(Entries(part.crow, part.col, val, part.begin, part.lengths, part.gap))
    return out


def _portion(
    visits: Sequence[_Visits],
    parts: Sequence[Entries],
    keys: Tensor,
    span: tuple[int, int],
    network: Network,
    replicas: Replicas,
    epoch: int,
    options: dict[str, Tensor],
    sums: Tensor,
) -> Portion:
    """What the modules see beside the sums."""
    seeds = replicas.seed[:, None]
    drop, dropout = options["model.dropout"], []
    for place, width in enumerate(network.shape.widths()):
        factor = None
        if bool((drop > 0).any()):
            draws = keyed_uniform(hash64(seeds, epoch, _HIDDEN + place, keys), width)
            factor = _factor(draws, drop[:, None, None], sums.dtype)
        dropout.append(factor)
    branches, longest = _stacked([network.layout(part.lengths) for part in parts])
    input_dropout = None
    input_drop = options["model.input_dropout"]
    if network.shape.gap and bool((input_drop > 0).any()):
        rows = sums.shape[0] // len(parts)
        draws = torch.stack([_word_draws(part, keys[r], replicas.seed[r], epoch, rows, sums.shape[1])
                             for r, part in enumerate(parts)])  # fmt: skip
        input_dropout = _factor(draws, input_drop[:, None, None], sums.dtype)
    labels = torch.stack([visit.labels[span[0] : span[1]] for visit in visits])
    return Portion(labels, dropout, input_dropout, branches, longest)


def _word_draws(part: Entries, keys: Tensor, seed: Tensor, epoch: int, rows: int, width: int) -> Tensor:
    """(rows, width): draws for the vector of each word, by its document and its place there; of blank rows any."""
    doc = torch.repeat_interleave(part.lengths)
    place = torch.arange(doc.numel(), device=doc.device) - (part.lengths.cumsum(0) - part.lengths)[doc]
    row_keys = torch.zeros(rows, dtype=torch.int64, device=doc.device)
    row_keys[part.begin[:-1][doc] + place] = hash64(seed, epoch, _INPUT, keys[doc], place)
    return keyed_uniform(row_keys, width)


def _factor(draws: Tensor, drop: Tensor, dtype: torch.dtype) -> Tensor:
    """Inverted dropout: 0 with probability `drop`, else 1 / (1 - drop)."""
    return torch.where(draws < drop, 0.0, 1.0 / (1.0 - drop)).to(dtype)


def _stacked(layouts: Sequence[tuple[list[list[Spans]] | None, Sequence[int]]]) -> tuple[object, Sequence[int]]:
    """The layouts of all replicas as one, with R leading; rows that a replica has not are blank."""
    if layouts[0][0] is None:
        return None, ()
    branches = [branches for branches, _ in layouts if branches is not None]
    pad = torch.nn.utils.rnn.pad_sequence
    stacked = [
        [
            Spans(*(pad([b[i][j][item] for b in branches], batch_first=True) for item in range(3)))
            for j in range(len(branches[0][i]))
        ]
        for i in range(len(branches[0]))
    ]
    return stacked, [max(most) for most in zip(*(longest for _, longest in layouts), strict=True)]
