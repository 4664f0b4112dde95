"""Options of the two networks, and of how they are trained."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from gpuclf.faults import UserFault
from gpuclf.models.learner import Learner, LearnerOptions
from gpuclf.models.neural.epoch import EpochPlan
from gpuclf.models.neural.feedforward import FeedforwardShape
from gpuclf.models.neural.initial import InitName
from gpuclf.models.neural.layers import ActivationName, ConnectionName, NormName
from gpuclf.models.neural.learner import NeuralLearner
from gpuclf.models.neural.losses import LossName
from gpuclf.models.neural.network import Network, Shape
from gpuclf.models.neural.text_cnn import ConvolutionName, PoolingName, TextCnnShape
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.table_epoch import MOMENTS, UpdateRule
from gpuclf.optim.rate_schedule import RateSchedule

Width = Annotated[int, Field(ge=1)]
Widths = Annotated[tuple[Width, ...], Field(strict=False)]
Dropout = Annotated[float, Field(ge=0, lt=1)]

_REFUSED = {
    "zeros": "all units of a layer would have the same gradient in every step and stay copies of one (exercise 3.5); "
    "take xavier_uniform, he_normal or orthonormal",
    "squared_error": "a scalar output with squared error is a regression, not a classifier: it has no scores of classes"
    "; take cross_entropy or margin",
}
# Keys of `train` that only some rules or schedules read.
_OF_OPTIMIZER = {
    "momentum": ("momentum", "adam", "adamw"),
    "beta2": ("adam", "adamw"),
    "rho": ("adadelta",),
    "eps": ("adagrad", "adadelta", "adam", "adamw"),
}
_OF_SCHEDULE = {
    "step_every": ("step",),
    "schedule_factor": ("step", "plateau"),
    "plateau_patience": ("plateau",),
    "schedule_epochs": ("cosine", "one_cycle"),
}


class NeuralOptions(LearnerOptions):
    """What both networks share. Dropout leaves out values with this probability in training, and makes up for it by a
    factor: `dropout` values of hidden layers (and of the pooled filters), `input_dropout` features, or numbers of word
    vectors. Norms stand before the activation; connections join hidden layers of equal width. average: the result is
    the mean of the weights over the last epoch (gpuclf.models.neural.average), the last weights are an alternative; on
    folds of four training files neither was clearly better (`python -m benchmarks.neural_study`), so it is off."""

    hidden: Widths = ()
    activation: ActivationName = "relu"
    norm: NormName = "none"
    connection: ConnectionName = "none"
    dropout: Dropout = 0.0
    input_dropout: Dropout = 0.0
    init: InitName | Literal["zeros"] = "xavier_uniform"
    loss: LossName | Literal["squared_error"] = "cross_entropy"
    average: bool = False

    per_replica: ClassVar[frozenset[str]] = frozenset(
        {"model.dropout", "model.input_dropout", "train.learning_rate", "train.weight_decay"}
    )
    train_keys: ClassVar[frozenset[str]] = frozenset(
        {"max_epochs", "shuffle", "batch", "early_stopping", "optimizer", "learning_rate", "weight_decay", "clip_norm"}
        | {"momentum", "beta2", "rho", "eps", "schedule", "warmup", *_OF_SCHEDULE, "precision", "compile"}
    )
    default_batch: ClassVar[int] = 32
    draws_by_feature: ClassVar[bool] = True

    @field_validator("init", "loss")
    @classmethod
    def _possible(cls, value: str) -> str:
        if value in _REFUSED:
            raise ValueError(f"{value}: {_REFUSED[value]}")
        return value

    @property
    def probabilities(self) -> bool:  # type: ignore[override]
        """Softmax of the scores is P(class | document) where the loss is the likelihood."""
        return self.loss == "cross_entropy"

    def shape(self) -> Shape:
        raise AssertionError(f"{type(self).__name__} has no shape()")

    @property
    def frozen(self) -> bool:
        """Whether the first layer stays as it begins."""
        return False

    @property
    def first_vectors_within(self) -> float | None:
        """The largest number of a first word vector; None: as `init` says."""
        return None

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Learner:
        _check_train(train, self.norm)
        assert self.init != "zeros"
        assert self.loss != "squared_error"
        kind = train.optimizer
        rule = UpdateRule(kind, train.momentum, train.rho if kind == "adadelta" else train.beta2, train.eps)
        schedule = RateSchedule(
            kind=train.schedule,
            epochs=train.schedule_epochs or train.max_epochs,
            warmup=train.warmup,
            every=train.step_every,
            factor=train.schedule_factor,
            patience=train.plateau_patience,
        )
        plan = EpochPlan(
            batch=train.batch,
            shuffle=train.shuffle,
            loss=self.loss,
            clip=train.clip_norm,
            frozen=self.frozen,
            low=train.precision == "bfloat16",
            compiled=train.compile,
            average=self.average,
        )
        defaults = {
            "model.dropout": self.dropout,
            "model.input_dropout": self.input_dropout,
            "train.learning_rate": train.learning_rate,
            "train.weight_decay": train.weight_decay,
        }
        scale = self.first_vectors_within
        return NeuralLearner(self.shape(), rule, schedule, plan, self.init, defaults, embedding_scale=scale)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Weights, at most two moments, their means, and the copies that are evaluated and kept."""
        shape = self.shape()
        numbers = (num_features + 1) * shape.table_width(num_classes)
        numbers += Network(shape, num_classes).num_parameters
        return 4 * numbers * (3 + self.average + max(MOMENTS.values()))


class FeedforwardOptions(NeuralOptions):
    """Hidden layers over a bag of features, whose first layer is a sum of its columns. hidden: units of each layer;
    none: logistic regression."""

    type: Literal["feedforward"] = "feedforward"
    hidden: Widths = (64,)

    @model_validator(mode="after")
    def _connected(self) -> FeedforwardOptions:
        _check_connection(self, [None, *self.hidden])
        return self

    def shape(self) -> FeedforwardShape:
        return FeedforwardShape(self.hidden, self.activation, self.norm, self.connection)


class TextCnnOptions(NeuralOptions):
    """Filters over windows of word vectors, pooled over each document, then hidden layers (none by default).

    widths: words of the windows; each width has `filters` filters in `layers` layers, whose words lie `dilation` apart.
    convolution: wide: windows may reach over both ends; narrow: they may not, but a document shorter than the filter
    has one. pooling: max, average or k_max: the k largest in their order, zeros where a document has fewer windows.
    embeddings: tuned, or frozen as they begin (features.vectors).
    embedding_scale: vectors that are not given are drawn evenly from ± this; null: as `init` says, to which a word is
    the only input of its vector: ±.24 for 100 numbers. Steps of Adam are as long as the rate whatever they change:
    vectors that large are learnt slowly. On folds of training files (`python -m benchmarks.neural_study`) .05 is .0094
    ± .0022 better on TREC and .0020 ± .0008 on sentences of reviews, not worse on whole reviews, with fewer epochs.
    """

    type: Literal["text_cnn"] = "text_cnn"
    embedding_dim: Width = 64
    filters: Width = 64
    widths: Annotated[tuple[Width, ...], Field(min_length=1, strict=False)] = (3, 4, 5)
    layers: Width = 1
    dilation: Width = 1
    convolution: ConvolutionName = "wide"
    pooling: PoolingName = "max"
    k: Annotated[int, Field(ge=1)] = 3
    embeddings: Literal["tuned", "frozen"] = "tuned"
    embedding_scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = 0.05

    reads: ClassVar[frozenset[str]] = frozenset({"tokens"})
    default_features: ClassVar[str] = "token_ids"

    @model_validator(mode="after")
    def _fits_together(self) -> TextCnnOptions:
        if len(set(self.widths)) != len(self.widths):
            raise ValueError(f"widths {list(self.widths)} has one twice; raise filters instead")
        if self.dilation > 1 and max(self.widths) == 1:
            raise ValueError("dilation has no meaning for windows of one word; give wider ones or remove it")
        _check_connection(self, [self.shape().widths()[0], *self.hidden])
        return self

    def shape(self) -> TextCnnShape:
        return TextCnnShape(
            self.embedding_dim, self.filters, self.widths, self.layers, self.dilation, self.convolution, self.pooling,
            self.k, self.hidden, self.activation, self.norm, self.connection,
        )  # fmt: skip

    @property
    def frozen(self) -> bool:
        return self.embeddings == "frozen"

    @property
    def first_vectors_within(self) -> float | None:
        return self.embedding_scale


def _check_connection(options: NeuralOptions, widths: Sequence[int | None]) -> None:
    """ValueError where residual or highway connections have nothing to join, or layers of different width."""
    if options.connection == "none":
        return
    joined = [(a, b) for a, b in itertools.pairwise(widths) if a is not None]
    if not joined:
        raise ValueError(f"connection: {options.connection} joins hidden layers, and there are not two of them")
    for a, b in joined:
        if a != b:
            raise ValueError(
                f"connection: {options.connection} needs layers of equal width, and {a} is followed by {b}"
            )


def _check_train(train: TrainOptions, norm: NormName) -> None:
    """UserFault for keys that do nothing beside others; a resolved config has every key, those at their default too."""
    choices = ((train.optimizer, "optimizer", _OF_OPTIMIZER), (train.schedule, "schedule", _OF_SCHEDULE))
    for chosen, name, table in choices:
        for key, of in table.items():
            if chosen not in of and _changed(train, key):
                raise UserFault(
                    f"has no meaning for {name}: {chosen}", key=f"train.{key}", remedy=f"remove it, or set {of[0]}"
                )
    if train.warmup and train.schedule == "one_cycle":
        raise UserFault("one_cycle rises by itself", key="train.warmup", remedy="remove it")
    if norm == "batch" and train.batch == 1:
        raise UserFault(
            "one document has no variance for batch norm", key="train.batch", remedy="set 2 at least, or norm: layer"
        )


def _changed(train: TrainOptions, name: str) -> Any:
    return getattr(train, name) != TrainOptions.model_fields[name].default
