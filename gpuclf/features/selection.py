"""Scores that say how much a feature tells about the class, and the choice of the best."""

from __future__ import annotations

import torch
from torch import Tensor


def chi_squared(class_sums: Tensor, class_docs: Tensor) -> Tensor:
    """(V+1,) float64: Pearson's chi-squared of the summed values per class against independence (sklearn's chi2).

    class_sums (classes, V+1) float64: sums of each feature's values per class; class_docs (classes,): documents of a
    class. A feature without any value scores 0.
    """
    expected = (class_docs / class_docs.sum().clamp(min=1.0))[:, None] * class_sums.sum(0)
    terms = (class_sums - expected).square() / expected
    return torch.where(expected > 0, terms, 0.0).sum(0)


def information_gain(class_df: Tensor, class_docs: Tensor) -> Tensor:
    """(V+1,) float64 in nats: mutual information of the class and whether the feature occurs in the document.

    class_df (classes, V+1) float64: documents of each class that hold the feature; class_docs (classes,).
    """
    docs = class_docs.sum().clamp(min=1.0)
    gain = torch.zeros(class_df.shape[1], dtype=torch.float64, device=class_df.device)
    for joint in (class_df, class_docs[:, None] - class_df):
        independent = (class_docs / docs)[:, None] * joint.sum(0)
        ratio = torch.where(joint > 0, joint / independent, 1.0)
        gain += (joint / docs * ratio.log()).sum(0)
    return gain


def top_features(score: Tensor, keep: Tensor, count: int) -> Tensor:
    """(V+1,) bool: of the features in keep, the `count` with the highest score; ties go to the lower column.

    Columns are in order of names, so ties go to the first name. Not a number counts as lowest.
    """
    ranked = torch.where(keep, score.nan_to_num(nan=-torch.inf), -torch.inf)
    best = torch.argsort(ranked, descending=True, stable=True)[:count]
    chosen = torch.zeros_like(keep)
    chosen[best] = True
    return chosen & keep
