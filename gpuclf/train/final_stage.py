"""The second stage of a run: the chosen cell is trained on all rows, for every seed, and becomes the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.learner import LearnerOptions, Predictor
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.corpus import Corpus
from gpuclf.train.grid import Cell
from gpuclf.train.grid_stage import GridResult
from gpuclf.train.loop import DIVERGED, BatchOutcome
from gpuclf.train.model_file import Model
from gpuclf.train.plan import Batch, plan_batches
from gpuclf.train.run_context import RunContext
from gpuclf.train.training_batch import Prepared, make_loop, max_steps, prepare, replica_limit, visits_per_step
from gpuclf.train.views import held_out_split, whole_split


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
    steps: int | None,
) -> list[SeedModel]:
    """Trains `cell` on every row of the training file, one replica a seed.

    `stage` is the packed state of the grid stage, carried along in every checkpoint; `steps` bounds the epochs
    (None: as configured). Raises UserFault where a seed diverges.
    """
    train = _refit_options(cell.options.train, steps)
    model_options: LearnerOptions = cell.options.model
    prepared = prepare(corpus, whole_split(corpus), cell.options.features, context.device, context.watch)
    limit = replica_limit(corpus, model_options, train, context.device)
    limit = context.saved.values["stage"]["limit"] if context.saved is not None else limit
    models: list[SeedModel] = []
    batches = plan_batches([[cell]], seeds, [0], [limit])
    done = context.saved.values["stage"]["batch"] if context.saved is not None else 0
    for number, batch in enumerate(batches):
        outcome = _train(context, prepared, batch, train, (number, len(batches)), number == done, limit, stage)
        models += _seed_models(corpus, prepared, cell, batch, outcome, context.device)
    return models


def _train(
    context: RunContext,
    prepared: Prepared,
    batch: Batch,
    train: TrainOptions,
    place: tuple[int, int],
    resumes: bool,
    limit: int,
    stage: tuple[dict[str, Any], dict[str, Tensor]],
) -> BatchOutcome:
    loop, _, problem = make_loop(prepared, batch, train, context.device, context.watch, wants_alternatives=True)
    if context.saved is not None and resumes:
        if "loop" in context.saved.values:
            loop.resume(context.saved)
        context.saved = None
    visits = visits_per_step(problem)
    values, tensors = stage

    def save(running: Any) -> None:
        about = {"name": "refit", "grid": values, "batch": place[0], "limit": limit}
        context.save(about, tensors, running)

    after_step = context.after_step(
        "refit",
        place[0],
        place[1],
        batch.replicas,
        False,
        max_steps(batch.cell.options.model, train),
        lambda positions: int(visits[positions].sum()),
        save,
    )
    with context.stop.deferred():
        outcome = loop.run(after_step)
    if DIVERGED in outcome.status:
        seed = batch.replicas[outcome.status.index(DIVERGED)].seed
        raise UserFault(
            f"training on all rows diverged (seed {seed}, step {outcome.steps[outcome.status.index(DIVERGED)]}); "
            "no model was saved",
            remedy="scale the features (features.norm: l2) or use weaker steps",
        )
    return outcome


def _refit_options(train: TrainOptions, steps: int | None) -> TrainOptions:
    changes: dict[str, Any] = {"early_stopping": None, "evaluate_every": train.max_epochs}
    if steps is not None:
        changes["max_epochs"] = steps
        changes["evaluate_every"] = steps
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
    assert prepared.views.col_scale is not None
    return Model(
        classes=corpus.classes,
        encoder=corpus.encoder,
        features=cell.options.features,
        col_scale=prepared.views.col_scale[0],
        predictor=take_replicas(predictor, torch.tensor([place])),
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
