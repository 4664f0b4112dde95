"""The `train` section of a config. Learners read the part that concerns their steps, the loop the rest."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gpuclf.faults import UserFault

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class EarlyStopping(BaseModel):
    """Stop a replica when its held-out metric has not improved for `patience` evaluations; its best state is kept."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    metric: Literal["accuracy", "macro_f1", "micro_f1", "weighted_f1", "aspect_f1", "chunk_f1"] = "accuracy"
    patience: Annotated[int, Field(ge=1)] = 3
    min_delta: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class TrainOptions(BaseModel):
    """How long, in which order and in which portions to train. A learner refuses the keys that it does not use."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_epochs: Annotated[int, Field(ge=1)] = 10
    shuffle: bool = True  # a new order every epoch, from (seed, epoch, document id); false: file order
    batch: Annotated[int, Field(ge=1)] | Literal["auto"] = 1  # 1: the exact one-example-at-a-time algorithm
    batch_update: Literal["sum", "mean"] = "sum"
    tol: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None  # relative change of the (averaged) weights
    # From here to `compile`: networks.
    optimizer: Literal["sgd", "momentum", "adagrad", "adadelta", "adam", "adamw"] = "adam"
    learning_rate: Positive = 1e-3
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # not of offsets
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9  # of momentum; of adam and adamw: beta1
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999  # of adam and adamw
    rho: Annotated[float, Field(ge=0, lt=1)] = 0.9  # of adadelta
    eps: Positive = 1e-8
    clip_norm: Positive | None = None  # the largest norm that a gradient may have
    schedule: Literal["constant", "step", "cosine", "one_cycle", "plateau"] = "constant"  # of the learning rate
    warmup: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0  # epochs in which the rate rises
    step_every: Annotated[int, Field(ge=1)] = 10  # epochs, of schedule: step
    schedule_factor: Annotated[float, Field(gt=0, lt=1)] = 0.1  # of schedule: step and plateau
    plateau_patience: Annotated[int, Field(ge=0)] = 2  # epochs without a lower training loss
    schedule_epochs: Annotated[int, Field(ge=1)] | None = None  # of cosine and one_cycle; None: max_epochs
    precision: Literal["float32", "bfloat16"] = "float32"  # of products; sums and weights are float32
    compile: bool = False  # by torch.compile
    early_stopping: EarlyStopping | None = None
    evaluate_every: Annotated[int, Field(ge=1)] = 1  # steps between held-out evaluations; the last is always evaluated
    checkpoint_every: Annotated[int, Field(ge=1)] | None = None  # steps; None: by time only
    checkpoint_seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    time_budget: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None  # seconds of training, all batches
    memory_budget: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None  # GiB for one batch of replicas
    threads: Annotated[int, Field(ge=1)] | None = None  # CPU threads; None: as OMP_NUM_THREADS and torch say

    @property
    def documents_at_once(self) -> int:
        """`batch` as a number. UserFault for auto, which only networks know."""
        if self.batch == "auto":
            raise UserFault("auto is for networks only", key="train.batch", remedy="give a number")
        return self.batch
