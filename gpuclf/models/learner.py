"""The one shape of a learner: init, step, finished, result over an explicit state.

A step is whatever the family's natural round is: an epoch, a counting pass, a Gibbs sweep, a tree level, an edge of a
graph, an L-BFGS iteration. `gpuclf.train` owns everything around it: stopping, checkpoints, logs, signals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from gpuclf.features.rows import Rows, Views
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.train_options import TrainOptions

EPOCHS = "train.max_epochs"


@dataclass(frozen=True)
class Replicas:
    """The models that train together, one entry each: R replicas.

    view (R,) int64 into Views; seed (R,) int64; options: the learner's per-replica options by config key, each (R,)
    float64; EPOCHS is among them where replicas end after different numbers of epochs. Replicas of one (view, seed),
    which see the same rows in the same order, are neighbours.
    """

    view: Tensor = replica_field()
    seed: Tensor = replica_field()
    options: dict[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.view.numel()

    def take(self, index: Tensor) -> Replicas:
        """The replicas in `index` (int64), in that order."""
        index = index.to(self.view.device)
        return Replicas(self.view[index], self.seed[index], {k: v[index] for k, v in self.options.items()})

    def having(self, key: str, values: Tensor) -> Replicas:
        """The same replicas with one more option, values (R,)."""
        values = values.to(self.view.device, torch.float64)
        return Replicas(self.view, self.seed, {**self.options, key: values})

    def to(self, device: torch.device) -> Replicas:
        options = {k: v.to(device) for k, v in self.options.items()}
        return Replicas(self.view.to(device), self.seed.to(device), options)


@dataclass(frozen=True)
class Problem:
    """Everything that stays the same during training, on one device.

    labels (docs,) int64, -1 for none; keys (docs,) int64: hash of each document's id, the root of every
    order and draw that concerns it; num_classes K; class order is the sorted one, everywhere. weights (docs,) float64
    ≥ 0: how often a document counts, None for once; for learners that say so, others are never given any.
    feature_keys (V,) int64: hash of each column's name, by which draws find it whatever other columns there are (0 for
    column 0); None: its number. feature_vectors (V, E) float32: vectors to begin with, NaN where there is none.
    """

    rows: Rows
    labels: Tensor
    keys: Tensor
    num_classes: int
    views: Views
    replicas: Replicas
    weights: Tensor | None = None
    feature_keys: Tensor | None = None
    feature_vectors: Tensor | None = None


class Predictor(Protocol):
    """An immutable trained model of R replicas: a frozen dataclass of tensors with replica_field axes."""

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32 of the documents `docs` (int64 row numbers) under one view.

        col_scale (V+1,) and row_scale (all docs of rows,) are that view's; None for rows without scales.
        `replicas` restricts the work to a run of neighbouring replicas (R is then its length).
        """
        ...

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: documents that every class excludes, whose scores are the prior's. Mostly all False."""
        ...


@runtime_checkable
class Deferred(Protocol):
    """A predictor that makes its parameters on demand, for the documents asked about: right for held-out figures."""

    def settled(self) -> Predictor:
        """The same model with all its parameters, of a kind that can be saved; its scores have the same bits."""
        ...


def settled(predictor: Predictor) -> Predictor:
    """The predictor as it is saved and shown: one that deferred its parameters makes them now."""
    return predictor.settled() if isinstance(predictor, Deferred) else predictor


class Learner(Protocol):
    """A family's training algorithm, built from its options; holds no tensors and no data."""

    def init(self, problem: Problem) -> Any:
        """The state before the first step: a frozen dataclass of tensors and plain numbers."""
        ...

    def step(self, problem: Problem, state: Any) -> Any:
        """One round further. May reuse the old state's buffers: the old state is dead after the call.

        `problem.replicas` is always what the state holds: after replicas were dropped, both are smaller.
        """
        ...

    def finished(self, problem: Problem, state: Any) -> Tensor:
        """(R,) bool: replicas that need no further step by the learner's own rule (converged, one-pass)."""
        ...

    def result(self, problem: Problem, state: Any) -> Predictor:
        """The predictor as of now (averaged where averaging is on); it may be deferred (see `settled`). Must not share
        memory with the state, but for tensors that no later step writes to."""
        ...

    def alternatives(self, problem: Problem, state: Any) -> Mapping[str, Predictor]:
        """Other predictors worth a test figure, by name: {"final": …} beside an averaged result."""
        ...

    def progress(self, problem: Problem, state: Any) -> dict[str, Tensor]:
        """Figures of the last step, each (R,): mistakes, updates, loss, log_joint …; counts are int64."""
        ...


@runtime_checkable
class Staged(Protocol):
    """A learner of several stages, whose first ones do not learn from the labels."""

    def ready(self, problem: Problem, state: Any) -> bool:
        """Whether the result is worth a judgement on held-out rows, or it is too early for that."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A learner whose state a person may want to look at while it trains."""

    def told(self, problem: Problem, state: Any) -> dict[str, Tensor]:
        """Small tables by name, each (R, …). `topics`: (R, T, n) int64, the most typical words of each topic as numbers
        of content words; `topic_moves`: (R, T+1, T+1) float64, probabilities from a topic, or the start of a review in
        the last row, to a topic, or the end."""
        ...


class LearnerOptions(BaseModel):
    """Options of a learner, written beside it; `type` names it in a config.

    `per_replica` lists, by full config key ("model.C"), the options that may differ inside one batch; all others are
    structural. `train_keys` lists the keys of the `train` section that mean something to this learner's own steps.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    type: str

    per_replica: ClassVar[frozenset[str]] = frozenset()
    categories: ClassVar[dict[str, tuple[str, ...]]] = {}  # of these options the names; a replica has the place in them
    train_keys: ClassVar[frozenset[str]] = frozenset()
    simplest: ClassVar[dict[str, int]] = {}  # option → direction of stronger regularisation, breaks ties of a grid
    evaluate_every: ClassVar[int] = 1  # steps between held-out evaluations where the config leaves it open
    no_weights: ClassVar[str | None] = "it counts each document once"  # why Problem.weights mean nothing; None: they do
    probabilities: ClassVar[bool] = False  # softmax of the scores is P(class | document)
    reads: ClassVar[frozenset[str]] = frozenset({"sparse"})  # kinds of rows: sparse, codes, tokens
    reads_unlabelled: ClassVar[bool] = False  # whether data.unlabelled means anything
    draws_by_feature: ClassVar[bool] = False  # whether draws find features by their names (Problem.feature_keys)
    default_batch: ClassVar[int] = 1  # train.batch where a config says nothing
    task: ClassVar[Literal["classify", "tag"]] = "classify"  # what is learnt, and so which stages a run has
    default_features: ClassVar[str] = "bag_of_words"  # features.type where a config says nothing
    default_metric: ClassVar[str] = "accuracy"  # select.metric likewise

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Learner:
        raise AssertionError(f"{type(self).__name__} has no build()")

    def max_steps(self, train: TrainOptions) -> int | None:
        """The last step of a learner that counts epochs or iterations; None where the learner alone decides."""
        return train.max_epochs if "max_epochs" in self.train_keys else None

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Device memory that one more replica takes while training, for the memory plan."""
        raise AssertionError(f"{type(self).__name__} has no bytes_per_replica()")

    def bytes_per_document(self, num_classes: int) -> int:
        """What a replica takes beside that for each document, where its model grows with the data."""
        return 0
