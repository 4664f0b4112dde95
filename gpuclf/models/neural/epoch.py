"""One epoch of some replicas that have equally many documents: portion by portion, forwards, backwards, update.

Everything that looks like chance is a hash: the order of documents of (seed, epoch, document), dropout of (seed, epoch,
layer, document, unit). So a replica's epoch is the same whatever trains beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import TokenRows
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.neural.average import Mean, point_after
from gpuclf.models.neural.initial import layer_key
from gpuclf.models.neural.losses import LossName
from gpuclf.models.neural.network import Network, Portion
from gpuclf.models.neural.portions import Entries, entries_of, thinned
from gpuclf.models.neural.text_cnn import Spans
from gpuclf.ops.counter_hash import hash64, uniform, visiting_order
from gpuclf.ops.keyed_uniform import keyed_factors, keyed_uniform
from gpuclf.ops.table_epoch import Steps, UpdateRule, Weights, table_epoch, update_all
from gpuclf.optim.rate_schedule import RateSchedule

_INPUT, _HIDDEN = layer_key("input"), layer_key("hidden")
_SMALLEST, _LARGEST, _PORTIONS = 32, 512, 200  # batch: auto


@dataclass(frozen=True)
class EpochPlan:
    """How an epoch is made. clip: the largest norm of a gradient (3.43), None without; frozen: the table stays as it
    is; low: products in bfloat16; compiled: by torch.compile; average: the mean of the weights over an epoch is kept
    (gpuclf.models.neural.average). batch auto: see `batch_of`."""

    batch: int | Literal["auto"]
    shuffle: bool
    loss: LossName
    clip: float | None = None
    frozen: bool = False
    low: bool = False
    compiled: bool = False
    average: bool = False

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


def epoch_by_portions(
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
    mean: Mean | None = None,
) -> Generator[None, None, EpochFigures]:
    """Changes table, weights and buffers in place, and what mean holds into their mean over this epoch. options: (R,)
    by config key; progress: the epoch (from 0), updates made before it and the scale of the rate, (R,). Pauses after
    each portion, and may be continued by another thread."""
    device, number = problem.labels.device, len(replicas)
    _on_one_thread(device)
    epoch, before, scale = progress
    visits = [_visits(problem, replicas.take(torch.tensor([r])), plan.shuffle, epoch,
                      options["model.input_dropout"][r], network.shape.gap) for r in range(number)]  # fmt: skip
    draws = _Draws(visits, network, replicas, epoch, options)
    documents = draws.labels.shape[1]
    bounds = _bounds(documents, plan.batch_of(documents), bool(network.buffers))
    rates = schedule.factors(epoch, len(bounds)).to(device)[:, None] * options["train.learning_rate"] * scale
    steps = Steps(rates, options["train.weight_decay"], before)
    opened = table_epoch(table, rule, steps)
    decayed = network.decayed(weights.value.dtype, device)
    loss = torch.zeros(number, dtype=torch.float64, device=device)
    norms, alive = loss.clone(), torch.zeros(number, sum(network.shape.widths()), dtype=torch.bool, device=device)
    for step, (start, stop) in enumerate(bounds):
        parts = [visit.entries.part(start, stop) for visit in visits]
        crow, col, val = _joined(parts)
        sums = opened.sums(crow, col, val)
        made = network.gradients(
            weights.value, buffers, sums.view(number, -1, sums.shape[1]),
            draws.portion(parts, (start, stop), sums), plan.loss, not plan.frozen, plan.low,
        )  # fmt: skip
        gradient, rows, of_rows, replica = made.parameters, None, None, None
        squares = gradient.square().sum(1).to(torch.float64)
        if made.sums is not None:
            rows, of_rows = opened.gradients(crow, col, val, made.sums.reshape(sums.shape))
            replica = rows // table.value.shape[1] if number > 1 else torch.zeros_like(rows)
            squares = squares.index_put((replica,), of_rows.norm(dim=1).to(torch.float64).square(), accumulate=True)
        norm = squares.sqrt()
        if plan.clip is not None:
            factor = (plan.clip / norm.clamp(min=1e-12)).clamp(max=1.0).to(gradient.dtype)
            gradient = gradient * factor[:, None]
            if of_rows is not None and replica is not None:
                of_rows.mul_(factor[replica][:, None])
        if rows is not None and of_rows is not None:
            opened.update(rows, of_rows)
        update_all(weights, gradient, rule, steps, step, decayed)
        loss += made.loss.to(torch.float64) * (stop - start)
        norms += norm
        alive |= made.alive
        point = 0 if mean is None else point_after(step, len(bounds))
        if mean is not None and point:
            opened.settle()
            mean.take_in(point, table.value, weights.value, buffers)
        yield
        _on_one_thread(device)
    opened.settle()
    dead = (~alive).to(torch.float64).mean(1) if alive.shape[1] else torch.zeros_like(loss)
    return EpochFigures(loss / documents, rates[-1], norms / len(bounds), dead)


def _on_one_thread(device: torch.device) -> None:
    """Bits must not depend on how many threads there are; the caller sets it back."""
    if device.type == "cpu":
        torch.set_num_threads(1)


def _visits(problem: Problem, replica: Replicas, shuffle: bool, epoch: int, drop: Tensor, gap: int) -> _Visits:
    """Of one replica. Dropout of the features of sparse rows is drawn here, for the whole epoch: those that are left
    out are no entries, and cost nothing."""
    view, seed = int(replica.view), int(replica.seed)
    everything = torch.arange(problem.labels.numel(), device=problem.labels.device)
    order = visiting_order(seed, epoch, problem.keys) if shuffle else everything
    docs = order[(problem.views.train[view] & (problem.labels >= 0))[order]]
    if not docs.numel():
        raise UserFault("a training set has no labelled document", remedy="give more data or fewer folds")
    scales = problem.views.col_scale, problem.views.row_scale
    col_scale, row_scale = (None if s is None else s[view] for s in scales)
    entries = entries_of(problem.rows, docs, col_scale, row_scale, gap, torch.float32)
    keys = problem.keys[docs]
    if not gap and not isinstance(problem.rows, TokenRows) and float(drop) > 0:
        feature = entries.col if problem.feature_keys is None else problem.feature_keys[entries.col]
        of_doc = torch.repeat_interleave(hash64(seed, epoch, _INPUT, keys), entries.crow.diff())
        entries = thinned(entries, _factor(uniform(hash64(of_doc, feature)), drop, entries.val.dtype))
    return _Visits(problem.labels[docs], keys, entries)


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


class _Draws:
    """What the modules see beside the sums, of all portions of an epoch: labels (R, docs), and the draws of dropout."""

    def __init__(
        self,
        visits: Sequence[_Visits],
        network: Network,
        replicas: Replicas,
        epoch: int,
        options: dict[str, Tensor],
    ):
        self.labels = torch.stack([visit.labels for visit in visits])
        self._keys = torch.stack([visit.keys for visit in visits])
        self._network, self._seeds, self._epoch = network, replicas.seed, epoch
        self._drop, self._input_drop = options["model.dropout"], options["model.input_dropout"]
        self._drops, self._widths = bool((self._drop > 0).any()), network.shape.widths()
        self._drops_words = bool(network.shape.gap) and bool((self._input_drop > 0).any())
        places = range(len(self._widths) if self._drops else 0)
        self._hidden = [hash64(replicas.seed[:, None], epoch, _HIDDEN + place, self._keys) for place in places]

    def portion(self, parts: Sequence[Entries], span: tuple[int, int], sums: Tensor) -> Portion:
        here = slice(*span)
        dropout: list[Tensor | None] = [None] * len(self._widths)
        for place, keys in enumerate(self._hidden):
            dropout[place] = keyed_factors(keys[:, here], self._widths[place], self._drop, sums.dtype)
        branches, longest = _stacked([self._network.layout(part.lengths) for part in parts])
        of_words = None
        if self._drops_words:
            shape = sums.shape[0] // len(parts), sums.shape[1]
            keys = self._keys[:, here]
            draws = [_word_draws(p, keys[r], self._seeds[r], self._epoch, *shape) for r, p in enumerate(parts)]
            of_words = _factor(torch.stack(draws), self._input_drop[:, None, None], sums.dtype)
        return Portion(self.labels[:, here], dropout, of_words, branches, longest)


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
