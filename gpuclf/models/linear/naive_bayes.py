"""Naive Bayes (Eisenstein 2018, section 2.2): one counting pass a training set serves every smoothing.

Variants: multinomial (eqs. 2.8-2.22), Bernoulli (McCallum & Nigam 1998) and complement (Rennie et al. 2003, eqs. 6-8).
V and all counts are those of the replica's training rows: a feature without a count there does not exist for it and
has weight 0. Scores are in nats. A step is one counting pass, after which the learner has finished; weights are made
from the counts by `result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import SparseRows
from gpuclf.models.learner import LearnerOptions, Predictor, Problem
from gpuclf.models.linear.bernoulli_predictor import BernoulliPredictor
from gpuclf.models.linear.counted_predictor import CountedPredictor, excluded
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.class_counts import ClassCounts, cell_sums, class_counts
from gpuclf.ops.log_tables import feature_sums, smoothed_logs

# Beyond this, alpha · V could overflow; the classes' feature distributions are equal long before.
_MAX_ALPHA = 1e100


class NaiveBayesOptions(LearnerOptions):
    """Options of naive Bayes.

    `alpha: 0` is the relative frequency itself: a feature that a class never had excludes the class; a document that
    every class excludes gets the prior and is flagged. A class without training rows has prior 0. The prior takes part
    in complement naive Bayes, too (eq. 8 of the paper; scikit-learn leaves it out: `prior: uniform` gives its choices).
    Probabilities are the posterior, for the complement variant the normalised exponentials of its scores.
    """

    type: Literal["naive_bayes"] = "naive_bayes"
    variant: Literal["multinomial", "bernoulli", "complement"] = "multinomial"
    alpha: Annotated[float, Field(ge=0, le=_MAX_ALPHA, allow_inf_nan=False)] = 1.0
    prior: Literal["empirical", "uniform"] = "empirical"  # uniform: over the classes with training rows
    norm: bool = False  # complement: divide a class's weights by the sum of their magnitudes

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.alpha"})
    train_keys: ClassVar[frozenset[str]] = frozenset()
    simplest: ClassVar[dict[str, int]] = {"model.alpha": 1}
    probabilities: ClassVar[bool] = True
    no_weights: ClassVar[str | None] = None

    @model_validator(mode="after")
    def _norm_is_for_complement(self) -> NaiveBayesOptions:
        if self.norm and self.variant != "complement":
            raise ValueError(f"norm means nothing to the {self.variant} variant; remove it, or set variant: complement")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> NaiveBayes:
        return NaiveBayes(self.variant, self.prior, self.norm)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """Weights and, with smoothing 0, exclusions in float32; counts in float64, if no replica shares the view."""
        return (num_features + 1) * num_classes * (4 + 4 + 8)


@dataclass(frozen=True)
class NaiveBayesState:
    """Counts of the distinct views in use: they have no replica axis, since replicas of a view share them.

    views (F,) int64, rising; counts of these views. No step writes to counts that exist: a result may share them.
    """

    views: Tensor
    counts: ClassCounts
    counted: bool


@dataclass(frozen=True)
class NaiveBayes:
    """The learner; see the module."""

    variant: str
    prior: str
    norm: bool

    def init(self, problem: Problem) -> NaiveBayesState:
        views = torch.unique(problem.replicas.view)
        _check(problem, views)
        nothing = torch.zeros(0, dtype=torch.int64, device=views.device)
        per_class = torch.zeros((views.numel(), problem.num_classes), dtype=torch.float64, device=views.device)
        counts = ClassCounts(
            documents=per_class,
            start=nothing.new_zeros(_sparse(problem).num_features + 2),
            label=nothing,
            counts=per_class[:, :0],
            totals=per_class,
            vocabulary=torch.zeros_like(views),
        )
        return NaiveBayesState(views, counts, counted=False)

    def step(self, problem: Problem, state: NaiveBayesState) -> NaiveBayesState:
        rows, used = _sparse(problem), state.views
        views = problem.views
        counts = class_counts(
            rows.crow,
            rows.col,
            rows.val,
            problem.labels,
            _rows_of(views.train, used),
            None if views.col_scale is None else _rows_of(views.col_scale, used),
            None if views.row_scale is None else _rows_of(views.row_scale, used),
            problem.num_classes,
            rows.num_features,
            binary=self.variant == "bernoulli",
            weights=problem.weights,
        )
        return NaiveBayesState(used, counts, counted=True)

    def finished(self, problem: Problem, state: NaiveBayesState) -> Tensor:
        return torch.full((len(problem.replicas),), state.counted, dtype=torch.bool, device=state.views.device)

    def result(
        self, problem: Problem, state: NaiveBayesState
    ) -> CountedPredictor | LinearPredictor | BernoulliPredictor:
        view = torch.searchsorted(state.views, problem.replicas.view)
        alpha = problem.replicas.options["model.alpha"].to(torch.float64)
        prior = self._log_prior(state.counts.documents)[view]
        if self.variant == "bernoulli":
            return _bernoulli(state.counts, view, alpha, prior)
        if self.variant == "complement":
            return _complement(state.counts, view, alpha, prior, self.norm)
        log_norm = _log_norm(state.counts.totals, state.counts.vocabulary, view, alpha)
        return CountedPredictor(state.counts, view, alpha, log_norm, prior)

    def alternatives(self, problem: Problem, state: NaiveBayesState) -> dict[str, Predictor]:
        return {}

    def progress(self, problem: Problem, state: NaiveBayesState) -> dict[str, Tensor]:
        """Training documents, and features that occur in them."""
        view = torch.searchsorted(state.views, problem.replicas.view)
        documents = state.counts.documents.sum(dim=-1).to(torch.int64)
        return {"documents": documents[view], "features": state.counts.vocabulary[view]}

    def _log_prior(self, documents: Tensor) -> Tensor:
        """log P(class) (F, K) from documents (F, K): log 0 for a class without any, never log 0 - log 0."""
        weight = documents if self.prior == "empirical" else (documents > 0).to(torch.float64)
        return torch.log(weight) - torch.log(weight.sum(dim=-1, keepdim=True)).clamp(min=0)


def _complement(counts: ClassCounts, view: Tensor, alpha: Tensor, prior: Tensor, norm: bool) -> LinearPredictor:
    """-log θ of a feature in the documents of all other classes (Rennie et al. 2003, eq. 8).

    With smoothing 0, a feature that no other class has would score +inf: it excludes the other classes.
    """
    others = _other_classes(counts)
    log_norm = _log_norm(others.totals, counts.vocabulary, view, alpha)
    weights = _log_table(others, view, alpha[:, None].expand_as(prior), log_norm)
    proof = excluded(weights, alpha)
    weights.neg_()
    if norm:
        size = feature_sums(weights)
        weights /= torch.where(size > 0, size, 1.0).to(torch.float32)
    weights[0] = prior
    if proof is None:
        return LinearPredictor(weights, None, double=True)
    impossible = (proof.any(dim=-1, keepdim=True) & ~proof).to(torch.float32)
    return LinearPredictor(weights, impossible, double=True)


def _bernoulli(counts: ClassCounts, view: Tensor, alpha: Tensor, prior: Tensor) -> BernoulliPredictor:
    """p = (α + documents with the feature) / (2α + documents) by class."""
    documents, shift = counts.documents[view], alpha[:, None].expand_as(prior)
    log_norm = _log(documents + 2 * shift)
    present = _log_table(counts, view, shift, log_norm)
    absent = _log_table(counts, view, documents + shift, log_norm, absent=True)
    never, always = excluded(present, alpha), excluded(absent, alpha)
    weights = present.sub_(absent)
    weights[0] = prior + feature_sums(absent)
    impossible = None
    if never is not None and always is not None:
        impossible = never.to(torch.float32) - always.to(torch.float32)
        impossible[0] = always.sum(dim=0)
    return BernoulliPredictor(weights, impossible, prior.to(torch.float32))


def _log_table(counts: ClassCounts, view: Tensor, shift: Tensor, log_norm: Tensor, absent: bool = False) -> Tensor:
    """gpuclf.ops.log_tables.smoothed_logs of all features, (V+1, R, K)."""
    features = torch.arange(counts.num_features + 1, device=view.device)
    return smoothed_logs(counts.start, counts.label, counts.counts, features, view, shift, log_norm, absent)


def _log_norm(totals: Tensor, vocabulary: Tensor, view: Tensor, alpha: Tensor) -> Tensor:
    """log (Vα + Σ count) (R, K) in float64."""
    return _log(totals[view] + (vocabulary[view].to(torch.float64) * alpha)[:, None])


def _log(value: Tensor) -> Tensor:
    """The logarithm, 0 for 0: such a norm divides nothing but counts of 0, which are log 0 by themselves."""
    return torch.where(value > 0, value, 1.0).log()


def _other_classes(counts: ClassCounts) -> ClassCounts:
    """Sums over all classes but each one, with a cell for every class. Never by subtraction: what no other class has
    must be 0 exactly."""
    table = counts.table()[1:]
    others = torch.zeros_like(table)
    others[..., 1:] += table[..., :-1].cumsum(dim=-1)
    others[..., :-1] += table[..., 1:].flip(-1).cumsum(dim=-1).flip(-1)
    features, views, classes = others.shape
    start = (torch.arange(features + 2, device=others.device) - 1).clamp(min=0) * classes
    label = torch.arange(classes, device=others.device).repeat(features)
    cells = others.permute(1, 0, 2).reshape(views, features * classes)
    totals, vocabulary = cell_sums(start, label, cells, classes)
    return ClassCounts(counts.documents, start, label, cells, totals, vocabulary)


def _rows_of(table: Tensor, used: Tensor) -> Tensor:
    """table[used] of rising row numbers; all of them are not copied."""
    return table if used.numel() == table.shape[0] else table[used]


def _sparse(problem: Problem) -> SparseRows:
    assert isinstance(problem.rows, SparseRows), "naive Bayes works on sparse rows"
    return problem.rows


def _check(problem: Problem, views: Tensor) -> None:
    """What the counts cannot be made from, told once, before the first step."""
    rows, scales = _sparse(problem), problem.views
    remedy = "use features.weighting: count, binary, tf or tfidf, or another model.type"
    if _least(rows.val) < 0:
        entry = int(rows.val.argmin())
        doc = int(torch.searchsorted(rows.crow, entry, right=True)) - 1
        raise UserFault(
            f"naive Bayes counts features, and a count cannot be negative: document {doc + 1} has the value"
            f" {float(rows.val[entry]):g} for feature number {int(rows.col[entry])}",
            key="model.type",
            remedy=remedy,
        )
    for scale in (scales.col_scale, scales.row_scale):
        if scale is not None and _least(scale) < 0:
            raise UserFault("naive Bayes needs feature weights that are not negative", key="model.type", remedy=remedy)
    known = problem.labels >= 0
    labelled = torch.stack([(scales.train[view] & known).any() for view in views.tolist()])
    if not bool(labelled.all()):
        number = int(views[~labelled][0])
        raise UserFault(
            f"naive Bayes has nothing to count: training set {number + 1} of {scales.num_views} has no labelled"
            " document",
            remedy="give more data or fewer folds",
        )


def _least(values: Tensor) -> float:
    """The smallest value, 0 of none."""
    if not values.numel():
        return 0.0
    return float(values.numpy().min() if values.device.type == "cpu" else values.min())  # NumPy wakes no threads
