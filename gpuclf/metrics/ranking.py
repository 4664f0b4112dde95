"""Figures of scores and probabilities, in float64: log loss, Brier score, ROC, precision and recall curves, top k.

`gold` holds class numbers; numbers from the scores' number of classes on are labels that training did not know: such a
document has probability 0 under the model, is in no top k, and is a negative of every class that has a column.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LogLoss:
    """mean -log P(gold) in nats; infinite as soon as one document's gold class has probability 0.

    `infinite` counts those documents; `finite_mean` is over the others (NaN where there are none).
    """

    mean: float
    infinite: int
    finite_mean: float
    documents: int


@dataclass(frozen=True)
class MacroFigure:
    """A one-vs-rest figure by class (K,) float64, NaN where undefined, and its mean over the defined ones.

    `undefined` lists the class numbers that are left out of the mean: no positive document, or (ROC) no negative one.
    """

    per_class: Tensor
    mean: float
    undefined: tuple[int, ...]


@dataclass(frozen=True)
class PrecisionRecallCurve:
    """Precision and recall (T+1,) of "score ≥ threshold" by rising threshold (T,); the last point is (1, 0)."""

    precision: Tensor
    recall: Tensor
    thresholds: Tensor


def log_probabilities(scores: Tensor) -> Tensor:
    """log softmax over the last axis in float64; a score of -inf is probability 0."""
    return torch.log_softmax(scores.to(torch.float64), dim=-1)


def log_loss(log_prob: Tensor, gold: Tensor) -> LogLoss:
    """Of log probabilities (n, K) and gold (n,)."""
    loss = -_gold_entries(log_prob.to(torch.float64), gold, -torch.inf)
    finite = torch.isfinite(loss)
    return LogLoss(float(loss.mean()), int((~finite).sum()), float(loss[finite].mean()), gold.numel())


def brier_score(prob: Tensor, gold: Tensor) -> float:
    """Mean over documents of Σ_k (p_k - [k = gold])² (Brier 1950: 0 to 2; for two classes twice the binary figure)."""
    prob = prob.to(torch.float64)
    right = _gold_entries(prob, gold, 0.0)
    return float((prob.square().sum(-1) - 2 * right + 1).mean())


def roc_auc(scores: Tensor, positive: Tensor) -> Tensor:
    """Area under the ROC curve, () float64: the chance that a positive outscores a negative, a tie counting one half.

    scores (n,), positive (n,) bool. NaN without a positive or without a negative.
    """
    _, place, size = torch.unique(scores, return_inverse=True, return_counts=True)
    below = size.cumsum(0) - size
    twice_rank = (2 * below + size - 1)[place]  # twice the mean 0-based rank, a whole number
    positives = positive.sum()
    negatives = positive.numel() - positives
    wins = twice_rank[positive].sum() - positives * (positives - 1)  # twice the pairs won
    return wins.to(torch.float64) / (2 * positives * negatives)


def average_precision(scores: Tensor, positive: Tensor) -> Tensor:
    """Σ (recall_t - recall_{t-1}) · precision_t over falling thresholds, () float64; NaN without a positive."""
    hits, given, _ = _by_threshold(scores, positive)
    precision = hits.to(torch.float64) / given
    gain = torch.diff(hits, prepend=hits.new_zeros(1)).to(torch.float64) / positive.sum()
    return (precision * gain).sum()


def precision_recall_curve(scores: Tensor, positive: Tensor) -> PrecisionRecallCurve:
    """All points of scores (n,) for positive (n,) bool, n > 0. Without a positive, recall is 1, as in scikit-learn."""
    hits, given, thresholds = _by_threshold(scores, positive)
    precision = hits.to(torch.float64) / given
    total = positive.sum()
    recall = hits.to(torch.float64) / total if bool(total) else torch.ones_like(precision)
    end = precision.new_tensor([1.0, 0.0])
    return PrecisionRecallCurve(
        torch.cat([precision.flip(0), end[:1]]), torch.cat([recall.flip(0), end[1:]]), thresholds.flip(0)
    )


def roc_auc_one_vs_rest(scores: Tensor, gold: Tensor) -> MacroFigure:
    """ROC AUC of every class against the others, of scores (n, K)."""
    return _macro([roc_auc(scores[:, k], gold == k) for k in range(scores.shape[1])])


def average_precision_one_vs_rest(scores: Tensor, gold: Tensor) -> MacroFigure:
    """Average precision of every class against the others, of scores (n, K)."""
    return _macro([average_precision(scores[:, k], gold == k) for k in range(scores.shape[1])])


def recall_at_k(scores: Tensor, gold: Tensor, k: int) -> float:
    """Share of documents whose gold class is among the k best of scores (n, K); ties go to the lowest class number."""
    best = torch.argsort(scores, dim=-1, descending=True, stable=True)[:, :k]
    return float((best == gold[:, None]).any(-1).to(torch.float64).mean())


def precision_at_k(scores: Tensor, gold: Tensor, k: int) -> float:
    """Share of right classes among the k best given to each document (fewer where there are fewer classes)."""
    return recall_at_k(scores, gold, k) / min(k, scores.shape[1])


def _gold_entries(values: Tensor, gold: Tensor, unknown: float) -> Tensor:
    """values[i, gold[i]] (n,), and `unknown` for gold classes without a column."""
    known = gold < values.shape[1]
    entries = values.gather(1, gold.clamp(max=values.shape[1] - 1)[:, None]).squeeze(1)
    return torch.where(known, entries, unknown)


def _by_threshold(scores: Tensor, positive: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each distinct score, falling: positives and documents at or above it (int64), and the score."""
    thresholds, place, size = torch.unique(scores, return_inverse=True, return_counts=True)
    hits = torch.bincount(place[positive], minlength=thresholds.numel())
    return hits.flip(0).cumsum(0), size.flip(0).cumsum(0), thresholds.flip(0)


def _macro(figures: list[Tensor]) -> MacroFigure:
    values = torch.stack(figures)
    defined = ~torch.isnan(values)
    left_out = torch.nonzero(~defined).flatten().tolist()
    return MacroFigure(values, float(values[defined].mean()), tuple(left_out))
