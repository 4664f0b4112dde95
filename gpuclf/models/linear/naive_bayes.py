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
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.class_counts import class_counts
from gpuclf.ops.log_tables import feature_sums, occurring, smoothed_logs

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

    views (F,) int64, rising; counts (F, V+1, K) float64 (gpuclf.ops.class_counts); exists (F, V+1) bool: features with
    a count in the view, False for the offset.
    """

    views: Tensor
    counts: Tensor
    exists: Tensor
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
        shape = (views.numel(), _sparse(problem).num_features + 1, problem.num_classes)
        counts = torch.zeros((), dtype=torch.float64, device=problem.labels.device).expand(shape)  # takes no memory
        exists = torch.zeros(shape[:2], dtype=torch.bool, device=counts.device)
        return NaiveBayesState(views, counts, exists, counted=False)

    def step(self, problem: Problem, state: NaiveBayesState) -> NaiveBayesState:
        rows, used = _sparse(problem), state.views
        col_scale, row_scale = problem.views.col_scale, problem.views.row_scale
        counts = class_counts(
            rows.crow,
            rows.col,
            rows.val,
            problem.labels,
            problem.views.train[used],
            None if col_scale is None else col_scale[used],
            None if row_scale is None else row_scale[used],
            problem.num_classes,
            rows.num_features,
            binary=self.variant == "bernoulli",
        )
        exists = occurring(counts.permute(1, 0, 2)).t()
        exists[:, 0] = False
        return NaiveBayesState(used, counts, exists, counted=True)

    def finished(self, problem: Problem, state: NaiveBayesState) -> Tensor:
        return torch.full((len(problem.replicas),), state.counted, dtype=torch.bool, device=state.views.device)

    def result(self, problem: Problem, state: NaiveBayesState) -> LinearPredictor | BernoulliPredictor:
        view = torch.searchsorted(state.views, problem.replicas.view)
        alpha = problem.replicas.options["model.alpha"].to(torch.float64)
        prior = self._log_prior(state.counts[:, 0])[view]
        if self.variant == "bernoulli":
            return _bernoulli(state, view, alpha, prior)
        if self.variant == "complement":
            return _complement(state, view, alpha, prior, self.norm)
        return _multinomial(state, view, alpha, prior)

    def alternatives(self, problem: Problem, state: NaiveBayesState) -> dict[str, Predictor]:
        return {}

    def progress(self, problem: Problem, state: NaiveBayesState) -> dict[str, Tensor]:
        """Training documents, and features that occur in them."""
        view = torch.searchsorted(state.views, problem.replicas.view)
        documents = state.counts[:, 0].sum(dim=-1).to(torch.int64)
        return {"documents": documents[view], "features": state.exists.sum(dim=-1)[view]}

    def _log_prior(self, documents: Tensor) -> Tensor:
        """log P(class) (F, K) from documents (F, K): log 0 for a class without any, never log 0 - log 0."""
        weight = documents if self.prior == "empirical" else (documents > 0).to(torch.float64)
        return torch.log(weight) - torch.log(weight.sum(dim=-1, keepdim=True)).clamp(min=0)


def _multinomial(state: NaiveBayesState, view: Tensor, alpha: Tensor, prior: Tensor) -> LinearPredictor:
    """log φ = log (α + count) - log (Vα + Σ count) (eq. 2.22)."""
    log_norm = _log_norm(state.counts, state.exists, view, alpha)
    weights = smoothed_logs(state.counts, state.exists, view, alpha, log_norm)
    impossible = _excluded(weights, alpha)
    weights[0] = prior
    return LinearPredictor(weights, None if impossible is None else impossible.to(torch.float32))


def _complement(state: NaiveBayesState, view: Tensor, alpha: Tensor, prior: Tensor, norm: bool) -> LinearPredictor:
    """-log θ of a feature in the documents of all other classes (Rennie et al. 2003, eq. 8).

    With smoothing 0, a feature that no other class has would score +inf: it excludes the other classes.
    """
    others = _other_classes(state.counts)
    log_norm = _log_norm(others, state.exists, view, alpha)
    weights = smoothed_logs(others, state.exists, view, alpha, log_norm)
    proof = _excluded(weights, alpha)
    weights.neg_()
    if norm:
        size = feature_sums(weights)
        weights /= torch.where(size > 0, size, 1.0).to(torch.float32)
    weights[0] = prior
    if proof is None:
        return LinearPredictor(weights, None)
    return LinearPredictor(weights, (proof.any(dim=-1, keepdim=True) & ~proof).to(torch.float32))


def _bernoulli(state: NaiveBayesState, view: Tensor, alpha: Tensor, prior: Tensor) -> BernoulliPredictor:
    """p = (α + documents with the feature) / (2α + documents) by class."""
    documents = state.counts[:, :1]
    log_norm = _log(documents[view, 0] + 2 * alpha[:, None])
    present = smoothed_logs(state.counts, state.exists, view, alpha, log_norm)
    absent = smoothed_logs(documents - state.counts, state.exists, view, alpha, log_norm)
    never, always = _excluded(present, alpha), _excluded(absent, alpha)
    weights = present.sub_(absent)
    weights[0] = prior + feature_sums(absent)
    impossible = None
    if never is not None and always is not None:
        impossible = never.to(torch.float32) - always.to(torch.float32)
        impossible[0] = always.sum(dim=0)
    return BernoulliPredictor(weights, impossible, prior.to(torch.float32))


def _log_norm(counts: Tensor, exists: Tensor, view: Tensor, alpha: Tensor) -> Tensor:
    """log (Vα + Σ count) (R, K) in float64."""
    total = feature_sums(counts[:, 1:].permute(1, 0, 2))
    vocabulary = exists.sum(dim=-1).to(torch.float64)
    return _log(total[view] + (vocabulary[view] * alpha)[:, None])


def _log(value: Tensor) -> Tensor:
    """The logarithm, 0 for 0: such a norm divides nothing but counts of 0, which are log 0 by themselves."""
    return torch.where(value > 0, value, 1.0).log()


def _excluded(table: Tensor, alpha: Tensor) -> Tensor | None:
    """Where a table of logs is log 0, which is set to 0 in place; None if no replica has smoothing 0."""
    if not bool((alpha == 0).any()):
        return None
    excluded = torch.isneginf(table)
    table.masked_fill_(excluded, 0.0)
    return excluded


def _other_classes(counts: Tensor) -> Tensor:
    """Sums over all classes but each one. Never by subtraction: what no other class has must be 0 exactly."""
    by_feature = counts.permute(1, 0, 2)  # contiguous
    others = torch.zeros_like(by_feature)
    others[..., 1:] += by_feature[..., :-1].cumsum(dim=-1)
    others[..., :-1] += by_feature[..., 1:].flip(-1).cumsum(dim=-1).flip(-1)
    return others.permute(1, 0, 2)


def _sparse(problem: Problem) -> SparseRows:
    assert isinstance(problem.rows, SparseRows), "naive Bayes works on sparse rows"
    return problem.rows


def _check(problem: Problem, views: Tensor) -> None:
    """What the counts cannot be made from, told once, before the first step."""
    rows, scales = _sparse(problem), problem.views
    remedy = "use features.weighting: count, binary, tf or tfidf, or another model.type"
    if rows.val.numel() and float(rows.val.min()) < 0:
        entry = int(rows.val.argmin())
        doc = int(torch.searchsorted(rows.crow, entry, right=True)) - 1
        raise UserFault(
            f"naive Bayes counts features, and a count cannot be negative: document {doc + 1} has the value"
            f" {float(rows.val[entry]):g} for feature number {int(rows.col[entry])}",
            key="model.type",
            remedy=remedy,
        )
    for scale in (scales.col_scale, scales.row_scale):
        if scale is not None and scale.numel() and float(scale.min()) < 0:
            raise UserFault("naive Bayes needs feature weights that are not negative", key="model.type", remedy=remedy)
    labelled = (scales.train[views] & (problem.labels >= 0)).any(dim=-1)
    if not bool(labelled.all()):
        number = int(views[~labelled][0])
        raise UserFault(
            f"naive Bayes has nothing to count: training set {number + 1} of {scales.num_views} has no labelled"
            " document",
            remedy="give more data or fewer folds",
        )
