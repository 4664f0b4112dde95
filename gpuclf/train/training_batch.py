"""One batch of replicas made ready: its problem on the device, its learner, its loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.names import Names
from gpuclf.features.options import FeatureOptions, WordTypesOptions
from gpuclf.features.rows import Rows, SparseRows, TokenRows, Views, rows_to
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.views import fit_views
from gpuclf.features.word_rows import WordRows
from gpuclf.models.learner import EPOCHS, LearnerOptions, Problem
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.span_hash import span_hashes
from gpuclf.train.corpus import Corpus, as_tensor
from gpuclf.train.devices import free_bytes
from gpuclf.train.held_out import HeldOutRows
from gpuclf.train.loop import BatchLoop
from gpuclf.train.plan import Batch, as_replicas
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.token_chunks import check_metric, token_chunks
from gpuclf.train.views import Split


@dataclass(frozen=True)
class Prepared:
    """A corpus and a split on the device, with what each view's training rows taught.

    labels (docs,) int64: -1 for classes that training does not know; gold (docs,) numbers these too.
    """

    corpus: Corpus
    split: Split
    rows: Rows
    labels: Tensor
    gold: Tensor
    keys: Tensor
    views: Views

    def problem(self, batch: Batch, model: LearnerOptions, device: torch.device) -> Problem:
        place = {number: index for index, number in enumerate(self.split.view_numbers)}
        replicas = as_replicas(batch.replicas, model.per_replica, device)
        view = torch.tensor([place[replica.view] for replica in batch.replicas], device=device)
        return Problem(
            rows=self.rows,
            labels=self.labels,
            keys=self.keys,
            num_classes=len(self.corpus.classes),
            views=self.views,
            replicas=type(replicas)(view, replicas.seed, replicas.options),
            weights=None if self.corpus.weights is None else torch.from_numpy(self.corpus.weights).to(device),
            feature_keys=self._feature_keys(device) if model.draws_by_feature else None,
            feature_vectors=None if self.corpus.vectors is None else self.corpus.vectors.to(device),
        )

    def _feature_keys(self, device: torch.device) -> Tensor:
        """(V+1,) int64: hashes of the features' names, 0 for column 0."""
        names = Names.from_strings(self.corpus.encoder.names)
        hashed = span_hashes(names.data, names.ptr[:-1], names.ptr[1:])
        return torch.cat([hashed.new_zeros(1), hashed]).to(device)

    @property
    def held_out(self) -> bool:
        return not bool(self.views.train.all())


def prepare(corpus: Corpus, split: Split, features: FeatureOptions, device: torch.device, watch: Stopwatch) -> Prepared:
    """Moves the rows to the device and learns every view's feature statistics from its training rows."""
    assert not isinstance(features, WordTypesOptions), "word types are no rows"
    with watch.timed("features"):
        rows = rows_to(corpus.rows, device)
        gold, keys = as_tensor(corpus.labels, device), as_tensor(corpus.keys, device)
        labels = gold.masked_fill(gold >= len(corpus.classes), -1)
        views = fit_views(rows, labels, len(corpus.classes), split.train.to(device), features)
    return Prepared(corpus, split, rows, labels, gold, keys, views)


def make_loop(
    prepared: Prepared,
    batch: Batch,
    train: TrainOptions,
    device: torch.device,
    watch: Stopwatch,
    wants_alternatives: bool = False,
    ends: Sequence[int] | None = None,
) -> tuple[BatchLoop, HeldOutRows | None, Problem]:
    """The loop of one batch, its held-out rows (None where nothing is held out) and its problem. ends: the last step of
    each replica, which learners that ask how many epochs there will be are told."""
    model: LearnerOptions = batch.cell.options.model
    problem, own = prepared.problem(batch, model, device), None
    if ends is not None:
        own = torch.tensor(ends, dtype=torch.int64)
        if "max_epochs" in model.train_keys:
            problem = replace(problem, replicas=problem.replicas.having(EPOCHS, own))
    held_out = None
    if prepared.held_out:
        num_gold = len(prepared.corpus.classes) + len(prepared.corpus.extra_classes)
        docs, outside = prepared.split.held_docs(device), prepared.corpus.outside
        chunks = token_chunks(prepared.rows, prepared.corpus.classes + prepared.corpus.extra_classes)
        check_metric(batch.cell.options, chunks)
        held_out = HeldOutRows(problem, prepared.gold, num_gold, docs, outside, chunks, prepared.corpus.classes)
    learner = model.build(train, prepared.corpus.classes)
    with watch.timed("train"):
        steps = max_steps(model, train)
        loop = BatchLoop(learner, problem, _evaluating(train, model), steps, held_out, wants_alternatives, watch, own)
    return loop, held_out, problem


def _evaluating(train: TrainOptions, model: LearnerOptions) -> TrainOptions:
    """The options with the learner's own interval between held-out evaluations, where none is given or needed."""
    if "evaluate_every" in train.model_fields_set or train.early_stopping is not None:
        return train
    return train.model_copy(update={"evaluate_every": model.evaluate_every})


def max_steps(model: LearnerOptions, train: TrainOptions) -> int | None:
    """The last step of a learner that counts epochs; None where the learner alone decides."""
    return model.max_steps(train)


def batch_bytes(train: TrainOptions, device: torch.device) -> int:
    """Bytes that one batch of replicas may take: `train.memory_budget`, else half of the free memory."""
    return free_bytes(device) if train.memory_budget is None else int(train.memory_budget * 2**30)


def replica_limit(corpus: Corpus, model: LearnerOptions, budget: int, views: int = 1) -> int:
    """How many replicas a batch of at most `budget` bytes may hold, with the views that they train on."""
    each = bytes_per_model(corpus, model)
    if views_fit_together(corpus, budget, views):
        budget -= views * _view_bytes(corpus)
    else:
        each += _view_bytes(corpus)
    return max(1, budget // max(1, each))


def bytes_per_model(corpus: Corpus, model: LearnerOptions) -> int:
    """Device memory that one more replica takes while it trains."""
    return (
        model.bytes_per_replica(corpus.rows.num_features, len(corpus.classes))
        + model.bytes_per_document(len(corpus.classes)) * corpus.num_docs
    )


def views_fit_together(corpus: Corpus, budget: int, views: int) -> bool:
    """Whether all views may be on the device at once, in half of the budget; else each batch has its own ones only."""
    return views * _view_bytes(corpus) <= budget // 2


def _view_bytes(corpus: Corpus) -> int:
    """A view's training mask and its scales of columns and rows."""
    if isinstance(corpus.rows, SenseRows):
        return 4 * corpus.rows.num_words * (len(corpus.classes) + 1) + corpus.num_docs
    if isinstance(corpus.rows, WordRows):
        return 4 * sum(corpus.rows.scale_sizes) + corpus.num_docs
    if isinstance(corpus.rows, TokenRows):
        return 4 * corpus.rows.num_types + corpus.num_docs
    if not isinstance(corpus.rows, SparseRows):
        return corpus.num_docs
    return 4 * (corpus.rows.num_features + 1) + 5 * corpus.num_docs


def visits_per_step(problem: Problem) -> Tensor:
    """(R,) int64: documents that one step of each replica visits."""
    return problem.views.train.sum(dim=1).cpu()[problem.replicas.view.cpu()]
