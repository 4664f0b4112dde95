"""The `train` section of a config. Learners read the part that concerns their steps, the loop the rest."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class EarlyStopping(BaseModel):
    """Stop a replica when its held-out metric has not improved for `patience` evaluations; its best state is kept."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    metric: Literal["accuracy", "macro_f1", "micro_f1", "weighted_f1"] = "accuracy"
    patience: Annotated[int, Field(ge=1)] = 3
    min_delta: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class TrainOptions(BaseModel):
    """How long, in which order and in which portions to train. A learner refuses the keys that it does not use."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_epochs: Annotated[int, Field(ge=1)] = 10
    shuffle: bool = True  # a new order every epoch, from (seed, epoch, document id); false: file order
    batch: Annotated[int, Field(ge=1)] = 1  # 1: the exact one-example-at-a-time algorithm
    batch_update: Literal["sum", "mean"] = "sum"
    tol: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None  # relative change of the (averaged) weights
    early_stopping: EarlyStopping | None = None
    evaluate_every: Annotated[int, Field(ge=1)] = 1  # steps between held-out evaluations; the last is always evaluated
    checkpoint_every: Annotated[int, Field(ge=1)] | None = None  # steps; None: by time only
    checkpoint_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    time_budget: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None  # seconds of training, all batches
    memory_budget: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None  # GiB for one batch of replicas
    threads: Annotated[int, Field(ge=1)] | None = None  # CPU threads; None: as OMP_NUM_THREADS and torch say
