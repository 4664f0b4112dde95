"""Networks as a learner: a step is an epoch of stochastic descent for every replica.

Replicas with equally many documents step together: on a CPU those of a feedforward network, as many at a time as make
work for all threads; on other devices all of them. On a CPU every replica of a text_cnn makes its epoch by itself, on
one thread: its products are large enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import SparseRows, TokenRows
from gpuclf.models.learner import Problem
from gpuclf.models.neural.average import Mean
from gpuclf.models.neural.epoch import EpochFigures, EpochPlan, epoch_by_portions
from gpuclf.models.neural.feedforward import FeedforwardShape
from gpuclf.models.neural.initial import InitName, first_parameter, first_table
from gpuclf.models.neural.network import Network, Shape, network_of, shape_text
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.replica_axis import replica_field
from gpuclf.ops.full_precision import full_precision
from gpuclf.ops.table_epoch import MOMENTS, UpdateRule, Weights
from gpuclf.ops.threads import run_in_turns
from gpuclf.optim.rate_schedule import RateSchedule

_MEANS = ("mean_table", "mean_parameters", "mean_buffers")


_TURN = 4  # portions that a thread makes of a replica's epoch before it looks for another
_MUCH_WORK = 100_000  # products of a portion and replica: twice what the calls of a portion cost


@dataclass(frozen=True)
class NeuralState:
    """After `epoch` epochs. table, parameters, buffers as in NeuralPredictor, and what the rule keeps of gradients;
    mean_…: their means over the last epoch, None without averaging (and of a table that is frozen).

    updates (R,) int64 made; scale, best, waited (R,): of a plateau schedule. Of the last epoch, (R,) float64: loss, a
    mean over documents; rate, the last one; norm, of the gradient, a mean over updates; dead, the part of hidden units
    that were 0 for every document.
    """

    epoch: int
    table: Tensor = replica_field()
    parameters: Tensor = replica_field()
    buffers: Tensor = replica_field()
    updates: Tensor = replica_field()
    scale: Tensor = replica_field()
    best: Tensor = replica_field()
    waited: Tensor = replica_field()
    loss: Tensor = replica_field()
    rate: Tensor = replica_field()
    norm: Tensor = replica_field()
    dead: Tensor = replica_field()
    table_first: Tensor | None = replica_field(optional=True)
    table_second: Tensor | None = replica_field(optional=True)
    first: Tensor | None = replica_field(optional=True)
    second: Tensor | None = replica_field(optional=True)
    mean_table: Tensor | None = replica_field(optional=True)
    mean_parameters: Tensor | None = replica_field(optional=True)
    mean_buffers: Tensor | None = replica_field(optional=True)


@dataclass(frozen=True)
class NeuralLearner:
    """The learner; see the options of the two networks. What may differ between replicas comes with the problem, or
    from `defaults` (by config key) where no grid varies it. together: whether replicas step together; None: by device;
    embedding_scale: see TextCnnOptions."""

    shape: Shape
    rule: UpdateRule
    schedule: RateSchedule
    plan: EpochPlan
    init_kind: InitName
    defaults: dict[str, float]
    embedding_key: str = "features.vectors"
    together: bool | None = None
    embedding_scale: float | None = None

    def init(self, problem: Problem) -> NeuralState:
        """First weights by the seed of each replica."""
        network = Network(self.shape, problem.num_classes)
        replicas, device = len(problem.replicas), problem.labels.device
        parameters = torch.stack([self._parameters(network, int(seed)) for seed in problem.replicas.seed]).to(device)
        table = torch.stack([self._table(problem, network, r) for r in range(replicas)])
        kept = MOMENTS[self.rule.kind]
        table_kept = 0 if self.plan.frozen else kept
        zeros = torch.zeros(replicas, dtype=torch.float64, device=device)
        buffers = network.first_buffers().to(device).expand(replicas, -1).clone()
        average = self.plan.average
        return NeuralState(
            epoch=0,
            table=table,
            table_first=torch.zeros_like(table) if table_kept > 0 else None,
            table_second=torch.zeros_like(table) if table_kept > 1 else None,
            parameters=parameters,
            first=torch.zeros_like(parameters) if kept > 0 else None,
            second=torch.zeros_like(parameters) if kept > 1 else None,
            buffers=buffers,
            mean_table=table.clone() if average and not self.plan.frozen else None,
            mean_parameters=parameters.clone() if average else None,
            mean_buffers=buffers.clone() if average else None,
            updates=torch.zeros(replicas, dtype=torch.int64, device=device),
            scale=zeros + 1,
            best=zeros + torch.inf,
            waited=torch.zeros(replicas, dtype=torch.int64, device=device),
            loss=zeros,
            rate=zeros.clone(),
            norm=zeros.clone(),
            dead=zeros.clone(),
        )

    def _parameters(self, network: Network, seed: int) -> Tensor:
        parts = [first_parameter(name, s, self.init_kind, seed).flatten() for name, s in network.shapes.items()]
        return torch.cat([torch.zeros(0, dtype=torch.float64), *parts]).to(torch.float32)

    def _table(self, problem: Problem, network: Network, r: int) -> Tensor:
        """The first layer of one replica; word 0, the unknown one, begins at 0."""
        rows, view = problem.rows, int(problem.replicas.view[r])
        lookup = isinstance(rows, TokenRows)
        number = rows.num_features + (not lookup)  # sparse rows do not count the offset
        keys = feature_keys(problem, number)
        scale = problem.views.col_scale
        used = torch.ones(number, dtype=torch.bool, device=keys.device) if scale is None else scale[view] != 0
        used[0] = False
        width, given = self.shape.table_width(network.classes), problem.feature_vectors
        if given is not None and given.shape[1] != width:
            raise UserFault(
                f"its vectors have {given.shape[1]} numbers, the network looks up {width}",
                key=self.embedding_key,
                remedy=f"set model.embedding_dim: {given.shape[1]}",
            )
        within = self.embedding_scale if lookup else None
        return first_table(int(problem.replicas.seed[r]), keys, used, width, self.init_kind, lookup, given, within)

    def step(self, problem: Problem, state: NeuralState) -> NeuralState:
        """One epoch. The old state's weights and moments are reused."""
        members = self._groups(problem)
        figures: list[EpochFigures | None] = [None] * len(members)

        def run(place: int) -> Iterator[None]:
            figures[place] = yield from self._epoch(problem, state, members[place])

        threads = torch.get_num_threads()
        try:
            with full_precision():
                run_in_turns([run(place) for place in range(len(members))], _TURN)
        finally:
            torch.set_num_threads(threads)
        found = [made for made in figures if made is not None]
        order = torch.argsort(torch.tensor([r for group in members for r in group])).to(state.rate.device)
        loss, rate, norm, dead = (torch.cat(parts)[order] for parts in zip(*found, strict=True))
        best, waited, scale = self.schedule.lowered(loss, state.best, state.waited, state.scale)
        portions = torch.tensor([-(-n // self.plan.batch_of(n)) for n in _documents(problem)]).to(state.updates.device)
        return replace(
            state,
            epoch=state.epoch + 1,
            updates=state.updates + portions,
            scale=scale,
            best=best,
            waited=waited,
            loss=loss,
            rate=rate,
            norm=norm,
            dead=dead,
        )

    def _groups(self, problem: Problem) -> list[list[int]]:
        """Replicas that step together: each by itself, or those with equally many documents. On a CPU they are
        neighbours, so that they are a slice of the state, and as many as give every thread its part."""
        counts, cpu = _documents(problem), problem.labels.device.type == "cpu"
        together = self.together
        if together is None:
            together = not cpu or isinstance(self.shape, FeedforwardShape)
        if not together:
            return [[r] for r in range(len(counts))]
        if cpu:
            each = self._together_on_cpu(problem, counts)
            runs = [list(run) for _, run in itertools.groupby(range(len(counts)), key=counts.__getitem__)]
            return [run[start : start + each] for run in runs for start in range(0, len(run), each)]
        groups: dict[int, list[int]] = {}
        for r, number in enumerate(counts):
            groups.setdefault(number, []).append(r)
        return list(groups.values())

    def _together_on_cpu(self, problem: Problem, counts: Sequence[int]) -> int:
        """As many as give every thread one group. Where a portion is so much work that it does not matter whether
        replicas share the calls that it takes, no more than give every thread the same: the rest fills their time."""
        rows, threads = problem.rows, torch.get_num_threads()
        if isinstance(rows, SparseRows):
            entries = rows.col.numel() / max(1, rows.num_docs) * self.plan.batch_of(max(counts))
            if entries * self.shape.table_width(problem.num_classes) >= _MUCH_WORK:
                return max(1, len(counts) // threads)
        return -(-len(counts) // threads)

    def _epoch(
        self, problem: Problem, state: NeuralState, members: Sequence[int]
    ) -> Generator[None, None, EpochFigures]:
        """The epoch of some replicas; their part of the state is changed in place."""
        whole = slice(members[0], members[-1] + 1)
        neighbours = list(members) == list(range(whole.start, whole.stop))
        index = torch.tensor(members, device=state.table.device)

        def part(tensor: Tensor | None) -> Tensor | None:
            if tensor is None:
                return None
            return tensor[whole] if neighbours else tensor.index_select(0, index)

        held = [part(t) for t in (state.table, state.table_first, state.table_second)]
        own = [part(t) for t in (state.parameters, state.first, state.second)]
        buffers = part(state.buffers)
        means = [part(t) for t in (state.mean_table, state.mean_parameters, state.mean_buffers)]
        assert held[0] is not None
        assert own[0] is not None
        assert buffers is not None
        figures = yield from epoch_by_portions(
            problem,
            problem.replicas.take(index),
            self.plan,
            self.rule,
            self.schedule,
            {key: self._option(problem, key)[index] for key in self.defaults},
            (state.epoch, state.updates[index], state.scale[index]),
            network_of(self.shape, problem.num_classes, members[0], self.plan.compiled),
            Weights(*held),  # type: ignore[arg-type]
            Weights(*own),  # type: ignore[arg-type]
            buffers,
            Mean(*means) if self.plan.average else None,  # type: ignore[arg-type]
        )
        if not neighbours:
            names = ("table", "table_first", "table_second", "parameters", "first", "second", "buffers", *_MEANS)
            for name, new in zip(names, [*held, *own, buffers, *means], strict=True):
                if new is not None:
                    getattr(state, name)[index] = new
        return figures

    def _option(self, problem: Problem, key: str) -> Tensor:
        """(R,) float64: an option of each replica."""
        given = problem.replicas.options.get(key)
        if given is None:
            given = torch.full((len(problem.replicas),), self.defaults[key], dtype=torch.float64)
        return given.to(problem.labels.device)

    def finished(self, problem: Problem, state: NeuralState) -> Tensor:
        """Never by itself: max_epochs and early stopping end training."""
        del state
        return torch.zeros(len(problem.replicas), dtype=torch.bool)

    def result(self, problem: Problem, state: NeuralState) -> NeuralPredictor:
        """The weights' means over the last epoch, or the last weights without averaging."""
        means = [getattr(state, name) for name in _MEANS]
        last = [state.table, state.parameters, state.buffers]
        return self._predictor(problem, *(b if a is None else a for a, b in zip(means, last, strict=True)))

    def _predictor(self, problem: Problem, table: Tensor, parameters: Tensor, buffers: Tensor) -> NeuralPredictor:
        return NeuralPredictor(
            table.clone(),
            parameters.clone(),
            buffers.clone(),
            network=shape_text(self.shape),
            classes=problem.num_classes,
        )

    def alternatives(self, problem: Problem, state: NeuralState) -> dict[str, NeuralPredictor]:
        """The last weights beside the averaged ones."""
        if not self.plan.average:
            return {}
        return {"final": self._predictor(problem, state.table, state.parameters, state.buffers)}

    def progress(self, problem: Problem, state: NeuralState) -> dict[str, Tensor]:
        """Of the last epoch: mean loss, the learning rate at its end, the mean norm of the gradient, and of ReLU layers
        the part of units that were never above 0."""
        del problem
        figures = {"loss": state.loss, "learning_rate": state.rate, "gradient_norm": state.norm}
        relu = self.shape.activation == "relu" and self.shape.widths()
        return {**figures, "dead_units": state.dead} if relu else figures


def feature_keys(problem: Problem, number: int) -> Tensor:
    """(V,) int64: of each feature the hash of its name, or where names are not known its number."""
    if problem.feature_keys is not None:
        return problem.feature_keys
    return torch.arange(number, device=problem.labels.device)


def _documents(problem: Problem) -> list[int]:
    """Labelled training documents of each replica."""
    counts = (problem.views.train & (problem.labels >= 0)).sum(1)
    return [int(n) for n in counts[problem.replicas.view]]
