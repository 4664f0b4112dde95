"""The second stage of a run: the chosen cell is trained on all rows, for every seed, and becomes the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.learner import LearnerOptions, Predictor, settled
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.corpus import Corpus, content_words
from gpuclf.train.grid import Cell
from gpuclf.train.grid_stage import GridResult
from gpuclf.train.loop import DIVERGED, BatchLoop, BatchOutcome
from gpuclf.train.model_file import Model
from gpuclf.train.plan import Batch, plan_batches
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor
from gpuclf.train.run_context import RunContext
from gpuclf.train.training_batch import (
    Prepared,
    batch_bytes,
    make_loop,
    max_steps,
    prepare,
    replica_limit,
    visits_per_step,
)
from gpuclf.train.views import held_out_split, whole_split

FINAL = "refit"  # the stage by its name in a checkpoint


@dataclass(frozen=True)
class SeedModel:
    """The final model of one seed, and its variants by name ("final": the last weights beside averaged ones)."""

    seed: int
    model: Model
    alternatives: dict[str, Model]
    status: str
    steps: int


def train_final(
    context: RunContext,
    corpus: Corpus,
    cell: Cell,
    seeds: Sequence[int],
    stage: tuple[dict[str, Any], dict[str, Tensor]],
    steps: Mapping[int, int],
) -> list[SeedModel]:
    """Trains `cell` on every row of the training file, one replica a seed.

    `stage` is the packed state of the grid stage, carried along in every checkpoint; `steps`: how many steps each seed
    is trained (empty: as configured). Raises UserFault where a seed diverges.
    """
    model_options: LearnerOptions = cell.options.model
    prepared = prepare(corpus, whole_split(corpus), cell.options.features, context.device, context.watch)
    free = batch_bytes(cell.options.train, context.device)
    state = FinalState(replica_limit(corpus, model_options, free), stage)
    if context.saved is not None:
        state = FinalState.unpack(context.saved, stage, context.device)
    models: list[SeedModel] = []
    batches = plan_batches([[cell]], seeds, [0], [state.limit])
    for number, batch in enumerate(batches):
        if number == len(state.outcomes):
            _train(context, prepared, batch, steps, (number, len(batches)), state)
        models += _seed_models(corpus, prepared, cell, batch, state.outcomes[number], context.device)
    context.saved = None  # taken right after the last batch
    return models


@dataclass
class FinalState:
    """How far the stage is. limit: replicas a batch; grid: the packed grid stage; outcomes of the batches finished."""

    limit: int
    grid: tuple[dict[str, Any], dict[str, Tensor]]
    outcomes: list[BatchOutcome] = field(default_factory=list)

    def pack(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        values, tensors = self.grid
        done, tensors = [], dict(tensors)
        for number, outcome in enumerate(self.outcomes):
            about: dict[str, Any] = {"status": outcome.status, "steps": outcome.steps, "predictors": {}}
            for name, predictor in {"": outcome.predictor, **outcome.alternatives}.items():
                parts, about["predictors"][name] = pack_predictor(predictor)
                tensors |= {f"outcome.{number}.{name}.{part}": tensor for part, tensor in parts.items()}
            done.append(about)
        return {"name": FINAL, "grid": values, "limit": self.limit, "done": done}, tensors

    @classmethod
    def unpack(
        cls, saved: Checkpoint, grid: tuple[dict[str, Any], dict[str, Tensor]], device: torch.device
    ) -> FinalState:
        stage = saved.values["stage"]
        outcomes = []
        for number, about in enumerate(stage["done"]):
            predictors = {}
            for name, record in about["predictors"].items():
                start = f"outcome.{number}.{name}."
                parts = {key.removeprefix(start): t for key, t in saved.tensors.items() if key.startswith(start)}
                predictors[name] = unpack_predictor(parts, record, device)
            outcomes.append(BatchOutcome(predictors.pop(""), predictors, about["status"], about["steps"], {}))
        return cls(stage["limit"], grid, outcomes)


def _train(
    context: RunContext,
    prepared: Prepared,
    batch: Batch,
    steps: Mapping[int, int],
    place: tuple[int, int],
    state: FinalState,
) -> None:
    """Trains one batch, from the checkpoint's step if there is one. place: its number, and how many there are."""
    ends = [steps[replica.seed] for replica in batch.replicas] if steps else None
    train = refit_options(batch.cell.options.train, ends)
    loop, _, problem = make_loop(prepared, batch, train, context.device, context.watch, True, ends)
    if context.saved is not None:
        if "loop" in context.saved.values:
            loop.resume(context.saved)
        context.saved = None
    visits = visits_per_step(problem)

    def save(running: BatchLoop | None = None) -> None:
        context.save(*state.pack(), running)

    after_step = context.after_step(
        "refit",
        *place,
        batch.replicas,
        prepared.split,
        max(ends) if ends else max_steps(batch.cell.options.model, train),
        lambda positions: int(visits[positions].sum()),
        save,
        words=content_words(prepared.corpus),
    )
    with context.stop.deferred():
        outcome = loop.run(after_step)
        _refuse_diverged(batch, outcome)
        state.outcomes.append(outcome)
        context.batch_done(loop.step, save)


def _refuse_diverged(batch: Batch, outcome: BatchOutcome) -> None:
    if DIVERGED in outcome.status:
        seed = batch.replicas[outcome.status.index(DIVERGED)].seed
        raise UserFault(
            f"training on all rows diverged (seed {seed}, step {outcome.steps[outcome.status.index(DIVERGED)]}); "
            "no model was saved",
            remedy="scale the features (features.norm: l2) or use weaker steps",
        )


def refit_options(train: TrainOptions, ends: Sequence[int] | None) -> TrainOptions:
    """How the chosen cell is trained again. ends: steps of each replica where early stopping has found them."""
    changes: dict[str, Any] = {"early_stopping": None}
    if ends is not None:
        if train.schedule in ("cosine", "one_cycle"):
            # The rates of the run that was judged.
            changes["schedule_epochs"] = train.schedule_epochs or train.max_epochs
        changes["max_epochs"] = max(ends)
    return train.model_copy(update=changes)


def _seed_models(
    corpus: Corpus, prepared: Prepared, cell: Cell, batch: Batch, outcome: BatchOutcome, device: torch.device
) -> list[SeedModel]:
    models = []
    for place, replica in enumerate(batch.replicas):
        models.append(
            SeedModel(
                seed=replica.seed,
                model=_model(corpus, prepared, cell, outcome.predictor, place, device),
                alternatives={
                    name: _model(corpus, prepared, cell, other, place, device)
                    for name, other in outcome.alternatives.items()
                },
                status=outcome.status[place],
                steps=outcome.steps[place],
            )
        )
    return models


def _model(
    corpus: Corpus, prepared: Prepared, cell: Cell, predictor: Predictor, place: int, device: torch.device
) -> Model:
    scales = prepared.views.col_scale
    return Model(
        classes=corpus.classes,
        encoder=corpus.encoder,
        features=cell.options.features,
        col_scale=None if scales is None else scales[0],
        predictor=settled(take_replicas(predictor, torch.tensor([place]))),
        options=cell.options.model,
        data=cell.options.data,
        index_base=corpus.index_base,
        device=device,
    )


def kept_models(context: RunContext, corpus: Corpus, cell: Cell, grid: GridResult) -> list[SeedModel]:
    """The models of the chosen cell as the grid stage trained them, where no refit is asked for."""
    split = held_out_split(context.options, corpus)
    assert split is not None
    prepared = prepare(corpus, split, cell.options.features, context.device, context.watch)
    runs = {run.seed: run for run in grid.best.runs}
    models = []
    for seeds, predictor in grid.harvest.predictors:
        for place, seed in enumerate(seeds):
            model = _model(corpus, prepared, cell, predictor, place, context.device)
            models.append(SeedModel(seed, model, {}, runs[seed].status, runs[seed].steps))
    return sorted(models, key=lambda model: model.seed)
