"""How much each of the rows counts that the replicas of a problem train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.models.learner import Problem
from gpuclf.models.replica_rows import Span

ClassWeight = Literal["balanced"] | dict[str, float] | None


def row_weights(problem: Problem, spans: Sequence[Span], factor: Tensor, class_weight: Tensor | str | None) -> Tensor:
    """What each document's loss counts for each replica: (docs, R) float64, 0 for rows that it does not train on.

    factor (R,) is C; class_weight (K,) or "balanced": n / (classes that occur · documents of the class), of the view's
    training rows, as scikit-learn has it. A document that counts k times (Problem.weights) is k documents in both.
    """
    labels = problem.labels
    weights = torch.zeros((labels.numel(), len(problem.replicas)), dtype=torch.float64, device=labels.device)
    for span in spans:
        own = labels[span.docs]
        times = torch.ones(own.numel(), dtype=torch.float64, device=labels.device)
        times = times if problem.weights is None else problem.weights[span.docs]
        if isinstance(class_weight, str):
            counts = times.new_zeros(problem.num_classes).index_add_(0, own, times)
            by_class = counts.sum() / ((counts > 0).sum() * torch.where(counts > 0, counts, 1.0))
        else:
            by_class = torch.ones(problem.num_classes, dtype=torch.float64, device=labels.device)
            by_class = by_class if class_weight is None else class_weight.to(labels.device)
        weights[span.docs, span.replicas] = (times * by_class[own])[:, None] * factor.to(labels.device)[span.replicas]
    return weights


def named_class_weight(given: ClassWeight, class_names: Sequence[str]) -> tuple[float, ...] | str | None:
    """Weights by class in the order of `class_names`; classes that the map does not name weigh 1."""
    if not isinstance(given, Mapping):
        return given
    unknown = sorted(set(given) - set(class_names))
    if unknown:
        raise UserFault(
            f"{unknown[0]!r} is no class of the training data",
            key="model.class_weight",
            remedy=f"use the labels of the data: {', '.join(class_names[:8])}{' …' if len(class_names) > 8 else ''}",
        )
    return tuple(float(given.get(name, 1.0)) for name in class_names)
