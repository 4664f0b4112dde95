"""The first stage of a run: train every cell × seed × fold, judge each on its held-out rows, choose a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.train.corpus import Corpus, content_words
from gpuclf.train.corpus_source import CorpusSource
from gpuclf.train.distribution import everyones, gathered, rank, world
from gpuclf.train.grid import Cell, split_structural
from gpuclf.train.harvest import Harvest, gather
from gpuclf.train.plan import Batch, plan_batches
from gpuclf.train.run_context import RunContext
from gpuclf.train.selection import CellRecord, RunRecord, cell_records, choose_cell, contenders, run_records
from gpuclf.train.training_batch import (
    Prepared,
    batch_bytes,
    make_loop,
    max_steps,
    prepare,
    replica_limit,
    views_fit_together,
    visits_per_step,
)
from gpuclf.train.views import Split, held_out_split

# Stages by their name in a checkpoint: within the grid; the grid complete, nothing trained on all rows yet.
GRID, JOINED = "grid", "joined"


@dataclass
class GridState:
    """How far the stage is. `harvests` holds the best cell so far and those still incomplete."""

    budget: int | None = None  # bytes a batch may take: kept, since free memory changes, and batches must not
    done: int = 0  # batches finished by this process
    records: list[RunRecord] = field(default_factory=list)
    harvests: dict[int, Harvest] = field(default_factory=dict)

    def pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        tensors: dict[str, Tensor] = {}
        harvests: dict[str, Any] = {}
        for cell, harvest in self.harvests.items():
            parts, about = harvest.pack(f"harvest.{cell}")
            tensors |= parts
            harvests[str(cell)] = about
        records = [asdict(record) for record in self.records]
        return {"budget": self.budget, "done": self.done, "records": records, "harvests": harvests}, tensors

    def join(self, other: GridState) -> None:
        """Takes in what another process trained."""
        self.records += other.records
        for cell, harvest in other.harvests.items():
            own = self.harvests.get(cell)
            self.harvests[cell] = harvest if own is None else own.joined(harvest)

    @classmethod
    def unpack(cls, values: dict[str, Any], tensors: dict[str, Tensor], device: torch.device) -> GridState:
        harvests = {
            int(cell): Harvest.unpack(f"harvest.{cell}", tensors, about, device)
            for cell, about in values["harvests"].items()
        }
        return cls(values["budget"], values["done"], [RunRecord(**r) for r in values["records"]], harvests)


@dataclass(frozen=True)
class GridResult:
    """The table of cells, the chosen one, and what was kept of it."""

    cells: list[CellRecord]
    best: CellRecord
    harvest: Harvest
    state: GridState


def run_grid(
    context: RunContext, source: CorpusSource, cells: Sequence[Cell], seeds: Sequence[int], keep_predictors: bool
) -> GridResult | None:
    """Trains all batches, from where a checkpoint left off; under torchrun each process trains its share of them.

    The first process gets the result, the others None. Raises UserFault where no cell has finite figures: then
    nothing is saved.
    """
    state, complete = _begin(context)
    number = own_done = 0
    for group in split_structural(cells, cells[0].options.model.per_replica):
        if complete:
            break
        corpus = source.corpus(group[0].options)
        split = held_out_split(context.options, corpus)
        assert split is not None
        limit = _limit(state, corpus, group[0], len(group) * len(seeds), len(split.view_numbers))
        batches = list(enumerate(plan_batches([group], seeds, split.view_numbers, [limit]), start=number))
        own = [(place, batch) for place, batch in batches if place % world() == rank()]
        todo = own[max(0, state.done - own_done) :]
        number += len(batches)
        own_done += len(own)
        prepared: Prepared | None = None
        for place, batch in todo:
            views = _views_of(state, corpus, batch, split)
            if prepared is None or prepared.split.view_numbers != views.view_numbers:
                prepared = None  # before the next are made: never two in memory
                prepared = prepare(corpus, views, group[0].options.features, context.device, context.watch)
            per_cell = len(seeds) * len(split.view_numbers)
            _train(context, prepared, batch, state, cells, seeds[0], per_cell, keep_predictors, (place, number))
    if not complete and not _joined(context, state):
        return None
    if context.saved is not None and context.saved.values["stage"]["name"] in (GRID, JOINED):
        context.saved = None  # taken right after the last batch
    return _chosen(context, cells, state) if rank() == 0 else None


def _begin(context: RunContext) -> tuple[GridState, bool]:
    """The state from which the stage goes on, and whether it was complete. The processes agree on both.

    The plan of batches must be one and the same for all processes, so that every model is trained once.
    """
    saved, state, complete = context.saved, GridState(), False
    if saved is not None:
        state = GridState.unpack(saved.values["stage"]["grid"], saved.tensors, context.device)
        complete = saved.values["stage"]["name"] != GRID
    known = everyones((state.budget, batch_bytes(context.options.train, context.device), complete))
    agreed = [budget for budget, _, _ in known if budget is not None]
    state.budget = agreed[0] if agreed else min(now for _, now, _ in known)
    return state, known[0][2]


def _joined(context: RunContext, state: GridState) -> bool:
    """Brings what all processes trained into the state of the first one; False for the others."""
    if world() > 1:
        parts = gathered((state.pack(), context.observer.rows_apart()))
        if parts is None:
            return False
        for (values, tensors), rows in parts[1:]:
            context.observer.adopt(rows)
            state.join(GridState.unpack(values, tensors, context.device))

    def save() -> None:
        values, tensors = state.pack()
        context.save({"name": JOINED, "grid": values}, tensors)

    context.batch_done(None, save)
    return True


def _limit(state: GridState, corpus: Corpus, cell: Cell, models_per_view: int, views: int) -> int:
    """Replicas a batch: by memory, and so that every process has work."""
    assert state.budget is not None
    return min(replica_limit(corpus, cell.options.model, state.budget, views), -(-models_per_view * views // world()))


def _views_of(state: GridState, corpus: Corpus, batch: Batch, split: Split) -> Split:
    """All views where they fit into memory together, else those that the batch trains on."""
    assert state.budget is not None
    if views_fit_together(corpus, state.budget, len(split.view_numbers)):
        return split
    return split.part(list(dict.fromkeys(replica.view for replica in batch.replicas)))


def _train(
    context: RunContext,
    prepared: Prepared,
    batch: Batch,
    state: GridState,
    cells: Sequence[Cell],
    first_seed: int,
    per_cell: int,
    keep_predictors: bool,
    place: tuple[int, int],
) -> None:
    """Trains one batch, from the checkpoint's step if there is one. place: its number and how many there are so far."""
    train = batch.cell.options.train
    loop, held_out, problem = make_loop(prepared, batch, train, context.device, context.watch)
    assert held_out is not None
    if context.saved is not None:
        if "loop" in context.saved.values:
            loop.resume(context.saved)
        context.saved = None
    visits = visits_per_step(problem)

    def save(running: Any = None) -> None:
        values, tensors = state.pack()
        context.save({"name": GRID, "grid": values}, tensors, running)

    after_step = context.after_step(
        "grid",
        *place,
        batch.replicas,
        prepared.split,
        max_steps(batch.cell.options.model, train),
        lambda positions: int(visits[positions].sum()),
        save,
        words=content_words(prepared.corpus),
    )
    with context.stop.deferred():
        outcome = loop.run(after_step)
        figures = {name: value.tolist() for name, value in outcome.held_out.items()}
        words = held_out.word_accuracy(outcome.predictor, problem.replicas)
        state.records += run_records(batch.replicas, outcome.status, outcome.steps, figures, prepared.split, words)
        state.done += 1
        with context.watch.timed("evaluate"):
            for cell in dict.fromkeys(replica.cell.index for replica in batch.replicas):
                if _may_win(context, cells, state, cell, per_cell):
                    first_views = prepared.split.first_views
                    part = gather(batch, cell, first_seed, first_views, problem, held_out, outcome, keep_predictors)
                    earlier = state.harvests.get(cell)
                    state.harvests[cell] = part if earlier is None else earlier.joined(part)
            _forget_losers(context, cells, state, per_cell)
        context.batch_done(loop.step, save)


def _complete(state: GridState, per_cell: int) -> set[int]:
    counts: dict[int, int] = {}
    for record in state.records:
        counts[record.cell] = counts.get(record.cell, 0) + 1
    return {cell for cell, count in counts.items() if count == per_cell}


def _contenders(context: RunContext, cells: Sequence[Cell], state: GridState, per_cell: int) -> set[int]:
    """The complete cells that may still be chosen."""
    complete, select = _complete(state, per_cell), context.options.select
    records = [cell for cell in cell_records([c.settings for c in cells], state.records) if cell.index in complete]
    return contenders(records, select.metric, cells[0].options.model.simplest, select.one_standard_error)


def _may_win(context: RunContext, cells: Sequence[Cell], state: GridState, cell: int, per_cell: int) -> bool:
    return cell not in _complete(state, per_cell) or cell in _contenders(context, cells, state, per_cell)


def _forget_losers(context: RunContext, cells: Sequence[Cell], state: GridState, per_cell: int) -> None:
    gone = _complete(state, per_cell) - _contenders(context, cells, state, per_cell)
    state.harvests = {cell: harvest for cell, harvest in state.harvests.items() if cell not in gone}


def _chosen(context: RunContext, cells: Sequence[Cell], state: GridState) -> GridResult:
    records = cell_records([cell.settings for cell in cells], state.records)
    select = context.options.select
    best = choose_cell(records, select.metric, cells[0].options.model.simplest, select.one_standard_error)
    failed = [record for record in records if not record.sound]
    for record in failed:
        status = ", ".join(sorted({run.status for run in record.runs if not run.sound}))
        context.observer.note(f"cell {record.options} has no finite result ({status}); it is not a candidate")
    if best is None:
        raise UserFault(
            f"all {len(records)} cell(s) of the grid diverged or gave no finite {select.metric}; no model was saved",
            remedy="scale the features (features.norm: l2) or use weaker steps",
        )
    state.harvests = {best.index: state.harvests[best.index]}
    return GridResult(records, best, state.harvests[best.index], state)


def out_of_fold(corpus: Corpus, harvest: Harvest) -> tuple[list[str], Tensor, Tensor]:
    """ids, gold labels (docs,) and scores (docs, K) of the held-out rows in file order."""
    order = torch.argsort(harvest.docs, stable=True)
    docs = harvest.docs[order]
    gold = torch.from_numpy(corpus.labels)[docs]
    return [corpus.ids[doc] for doc in docs.tolist()], gold, harvest.scores[order]
