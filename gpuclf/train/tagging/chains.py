"""The stage of a run that trains chains: every cell × seed samples the tags of one text, batch by batch.

Nothing is held out and nothing trained twice: the chains are the models, and the best one of the best cell is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from gpuclf.features.rows import Views
from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.tagger.predictor import TypeTagger
from gpuclf.train.distribution import everyones, gathered, rank, world
from gpuclf.train.grid import Cell, split_structural
from gpuclf.train.loop import BatchLoop, BatchOutcome
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.plan import Batch, as_replicas, plan_batches
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor
from gpuclf.train.run_context import RunContext
from gpuclf.train.selection import RunRecord, cell_records, contenders, run_records
from gpuclf.train.tagging.gold_tags import GoldTags
from gpuclf.train.tagging.tagged_text import TaggedText, TextSource, tagger_options
from gpuclf.train.training_batch import batch_bytes
from gpuclf.train.views import Split

CHAINS = "chains"  # the stage by its name in a checkpoint
LOG_JOINT = "log_joint"
NO_FOLDS = Split(torch.zeros(1, 0, dtype=torch.int64), (0,), (0,), folded=False)


@dataclass(frozen=True)
class Chain:
    """A trained chain: the sample that its cell's seed ended with, as a tagger of one replica."""

    seed: int
    log_joint: float
    tagger: TypeTagger


@dataclass
class ChainState:
    """How far the stage is. kept: of each cell that may still be chosen, its best chain."""

    budget: int | None = None  # bytes a batch may take: kept, since free memory changes, and batches must not
    done: int = 0  # batches finished by this process
    records: list[RunRecord] = field(default_factory=list)
    kept: dict[int, Chain] = field(default_factory=dict)

    def pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Plain values and tensors, for a checkpoint or another process."""
        tensors: dict[str, Tensor] = {}
        kept: dict[str, Any] = {}
        for cell, chain in self.kept.items():
            parts, about = pack_predictor(chain.tagger)
            tensors |= {f"chain.{cell}.{name}": tensor for name, tensor in parts.items()}
            kept[str(cell)] = {"seed": chain.seed, LOG_JOINT: chain.log_joint, **about}
        records = [asdict(record) for record in self.records]
        return {"budget": self.budget, "done": self.done, "records": records, "kept": kept}, tensors

    @classmethod
    def unpack(cls, values: dict[str, Any], tensors: dict[str, Tensor], device: torch.device) -> ChainState:
        """The state that `pack` took apart."""
        kept = {}
        for cell, about in values["kept"].items():
            start = f"chain.{cell}."
            parts = {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}
            tagger = unpack_predictor(parts, about, device)
            assert isinstance(tagger, TypeTagger), "a chain's predictor is a tagger"
            kept[int(cell)] = Chain(about["seed"], about[LOG_JOINT], tagger)
        records = [RunRecord(**record) for record in values["records"]]
        return cls(values["budget"], values["done"], records, kept)

    def keep(self, cell: int, chain: Chain) -> None:
        """Remembers a chain if it is the best of its cell so far; the first of equals stays."""
        earlier = self.kept.get(cell)
        if earlier is None or chain.log_joint > earlier.log_joint:
            self.kept[cell] = chain


def run_chains(
    context: RunContext, source: TextSource, cells: Sequence[Cell], seeds: Sequence[int]
) -> ChainState | None:
    """Trains all chains, from where a checkpoint left off; under torchrun each process trains its share of the batches.

    The first process gets the state, the others None.
    """
    state = _begin(context)
    number = own_done = 0
    for group in split_structural(cells, cells[0].options.model.per_replica):
        options = group[0].options
        text = source.text(options)
        assert state.budget is not None
        limit = chain_limit(text, options, state.budget, len(group) * len(seeds))
        batches = list(enumerate(plan_batches([group], seeds, [0], [limit]), start=number))
        own = [(place, batch) for place, batch in batches if place % world() == rank()]
        todo = own[max(0, state.done - own_done) :]
        number += len(batches)
        own_done += len(own)
        for place, batch in todo:
            _train(context, text, batch, state, cells, len(seeds), (place, number))
    context.saved = None  # taken right after the last batch
    return _joined(context, state, cells, len(seeds))


def _begin(context: RunContext) -> ChainState:
    state = ChainState()
    if context.saved is not None:
        state = ChainState.unpack(context.saved.values["stage"]["chains"], context.saved.tensors, context.device)
    known = everyones((state.budget, batch_bytes(context.options.train, context.device)))
    agreed = [budget for budget, _ in known if budget is not None]
    state.budget = agreed[0] if agreed else min(now for _, now in known)
    return state


def bytes_per_chain(text: TaggedText, options: ExperimentOptions) -> int:
    """Device memory of one more chain."""
    corpus, model = text.sentences.corpus, tagger_options(options)
    return model.bytes_per_replica(corpus.num_features, model.tags) + 16 * corpus.num_types


def chain_limit(text: TaggedText, options: ExperimentOptions, budget: int, chains: int) -> int:
    """Chains a batch, of `chains` in all: by memory, and so that every process has work."""
    return min(max(1, budget // max(1, bytes_per_chain(text, options))), -(-chains // world()))


def _train(
    context: RunContext,
    text: TaggedText,
    batch: Batch,
    state: ChainState,
    cells: Sequence[Cell],
    per_cell: int,
    place: tuple[int, int],
) -> None:
    """Trains one batch, from the checkpoint's sweep if there is one. place: its number, and how many there are."""
    options = batch.cell.options
    corpus = text.sentences.corpus
    problem = _problem(context, text, batch)
    judge = GoldTags.of(text.sentences, problem.num_classes, context.device)
    with context.watch.timed("train"):
        learner = options.model.build(options.train, text.words.names)
        steps = options.model.max_steps(options.train)
        loop = BatchLoop(learner, problem, options.train, steps, judge, watch=context.watch)
    if context.saved is not None:
        if "loop" in context.saved.values:
            loop.resume(context.saved)
        context.saved = None

    def save(running: BatchLoop | None = None) -> None:
        values, tensors = state.pack()
        context.save({"name": CHAINS, "chains": values}, tensors, running)

    after_step = context.after_step(
        "grid",
        *place,
        batch.replicas,
        NO_FOLDS,
        steps,
        lambda positions: positions.numel() * corpus.num_sentences,
        save,
        judged_by="gold",
        unit="sweep",
    )
    with context.stop.deferred():
        outcome = loop.run(after_step)
        _take_in(batch, outcome, state)
        _forget_losers(context, state, cells, per_cell)
        context.batch_done(loop.step, save)


def _problem(context: RunContext, text: TaggedText, batch: Batch) -> Problem:
    """The chains' problem: types in the place of rows; no labels, since gold tags have no part in training."""
    model, device = tagger_options(batch.cell.options), context.device
    corpus, nothing = text.sentences.corpus, torch.zeros(0, dtype=torch.int64, device=device)
    return Problem(
        rows=corpus.to(device),
        labels=nothing,
        keys=nothing,
        num_classes=model.tags,
        views=Views(torch.zeros(1, 0, dtype=torch.bool, device=device)),
        replicas=as_replicas(batch.replicas, model.per_replica, device),
    )


def _take_in(batch: Batch, outcome: BatchOutcome, state: ChainState) -> None:
    """The batch's records, and the best chain of each of its cells."""
    tagger = outcome.predictor
    assert isinstance(tagger, TypeTagger), "a chain's predictor is a tagger"
    joints = tagger.log_joint.tolist()
    figures = {LOG_JOINT: joints, **{name: value.tolist() for name, value in outcome.held_out.items()}}
    records = run_records(batch.replicas, outcome.status, outcome.steps, figures, NO_FOLDS)
    state.records += records
    state.done += 1
    for place, (replica, record) in enumerate(zip(batch.replicas, records, strict=True)):
        if record.sound:
            one = take_replicas(tagger, torch.tensor([place]))
            state.keep(replica.cell.index, Chain(replica.seed, joints[place], one))


def _forget_losers(context: RunContext, state: ChainState, cells: Sequence[Cell], per_cell: int) -> None:
    counts: dict[int, int] = {}
    for record in state.records:
        counts[record.cell] = counts.get(record.cell, 0) + 1
    complete = {cell for cell, count in counts.items() if count == per_cell}
    records = [r for r in cell_records([cell.settings for cell in cells], state.records) if r.index in complete]
    candidates = candidate_cells(cells, context.options.select.metric)
    winners = contenders(
        [record for record in records if record.index in candidates],
        context.options.select.metric,
        cells[0].options.model.simplest,
    )
    state.kept = {cell: chain for cell, chain in state.kept.items() if cell in winners or cell not in complete}


def candidate_cells(cells: Sequence[Cell], metric: str) -> set[int]:
    """The cells that may be compared by this metric: the log joints of two levels are of different things, so that only
    those of the richest level count; by gold tags all cells can be compared."""
    if metric != LOG_JOINT:
        return {cell.index for cell in cells}
    levels = {cell.index: tagger_options(cell.options).richness for cell in cells}
    richest = max(levels.values())
    return {index for index, level in levels.items() if level == richest}


def _joined(context: RunContext, state: ChainState, cells: Sequence[Cell], per_cell: int) -> ChainState | None:
    """What all processes trained, in the first of them."""
    if world() == 1:
        return state
    parts = gathered((state.pack(), context.observer.rows_apart()))
    if parts is None:
        return None
    for (values, tensors), rows in parts[1:]:
        context.observer.adopt(rows)
        other = ChainState.unpack(values, tensors, context.device)
        state.records += other.records
        for cell, chain in other.kept.items():
            state.keep(cell, chain)
    _forget_losers(context, state, cells, per_cell)
    return state
