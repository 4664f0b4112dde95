"""Accuracy, precision, recall and F1 from confusion matrices, all in float64.

An average over classes counts, unless told otherwise, the classes that occur in gold or predictions (scikit-learn's
union of labels). In it a class without gold documents has recall 0, a class never predicted precision 0, and both F1 0.
With no document at all a figure is NaN: there is nothing to divide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class PerClass:
    """Figures by class, each (..., K): precision, recall, f1 float64; support (gold), predicted int64.

    occurs (..., K) bool: the class is in gold or predictions.
    """

    precision: Tensor
    recall: Tensor
    f1: Tensor
    support: Tensor
    predicted: Tensor
    occurs: Tensor


def per_class(counts: Tensor) -> PerClass:
    """Per-class figures of confusion matrices (..., K, K), gold in rows; 0 where a figure divides by nothing."""
    hits = counts.diagonal(dim1=-2, dim2=-1)
    support, predicted = counts.sum(-1), counts.sum(-2)
    return PerClass(
        precision=_share(hits, predicted),
        recall=_share(hits, support),
        f1=_share(2 * hits, support + predicted),
        support=support,
        predicted=predicted,
        occurs=(support + predicted) > 0,
    )


def accuracy(counts: Tensor) -> Tensor:
    """Share of documents on the diagonal, (...) float64, of confusion matrices (..., K, K)."""
    return counts.diagonal(dim1=-2, dim2=-1).sum(-1).to(torch.float64) / counts.sum((-2, -1))


def macro_f1(counts: Tensor) -> Tensor:
    """Mean F1 over the classes that occur in gold or predictions, (...) float64."""
    figures = per_class(counts)
    return _mean(figures.f1, figures.occurs)


def micro_f1(counts: Tensor) -> Tensor:
    """F1 of the pooled decisions over all classes, (...) float64: with one label a document, the accuracy."""
    return accuracy(counts)


def weighted_f1(counts: Tensor) -> Tensor:
    """Mean F1 weighted by the gold documents of each class, (...) float64."""
    figures = per_class(counts)
    return _mean(figures.f1, figures.support)


def batch_metrics(counts: Tensor) -> dict[str, Tensor]:
    """The figures that choose and stop models, each (R,) float64, of confusion matrices (R, K, K); of aspects there
    are further ones in gpuclf.metrics.aspects."""
    return {
        "accuracy": accuracy(counts),
        "macro_f1": macro_f1(counts),
        "micro_f1": micro_f1(counts),
        "weighted_f1": weighted_f1(counts),
    }


@dataclass(frozen=True)
class Average:
    """Precision, recall and F1 averaged one way."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class ClassificationReport:
    """Every figure of one model on one set, and what each average is over.

    `counted` are the classes in the averages. Among them `never_predicted` contribute precision 0 and `without_gold`
    recall 0. `not_in_training` are gold classes that the model cannot give; their documents are errors.
    """

    classes: tuple[str, ...]
    confusion: Tensor  # (K, K) int64, gold in rows
    per_class: PerClass
    documents: int
    accuracy: float
    macro: Average
    micro: Average
    weighted: Average
    counted: tuple[str, ...]
    never_predicted: tuple[str, ...]
    without_gold: tuple[str, ...]
    not_in_training: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The report as plain values for a JSON file; a class that occurs nowhere is left out of `per_class`."""
        figures = ("precision", "recall", "f1", "support", "predicted")
        columns = {name: getattr(self.per_class, name).tolist() for name in figures}
        rows = {
            name: {column: values[k] for column, values in columns.items()}
            for k, name in enumerate(self.classes)
            if self.per_class.occurs[k]
        }
        averages = {
            f"{kind}_{figure}": getattr(getattr(self, kind), figure)
            for kind in ("macro", "micro", "weighted")
            for figure in figures[:3]
        }
        notes = ("counted", "never_predicted", "without_gold", "not_in_training")
        return {
            "documents": self.documents,
            "accuracy": self.accuracy,
            **averages,
            "per_class": rows,
            **{name: list(getattr(self, name)) for name in notes},
        }


def classification_report(
    counts: Tensor,
    classes: Sequence[str],
    num_model_classes: int | None = None,
    counted: Tensor | None = None,
) -> ClassificationReport:
    """The report of one confusion matrix (K, K) over `classes`, of which the model knows the first num_model_classes.

    counted (K,) bool chooses the classes of the averages; None: those that occur in gold or predictions. As in
    scikit-learn, the micro average over part of the classes pools their decisions only, and differs from the accuracy.
    """
    counts = counts.cpu()
    known = len(classes) if num_model_classes is None else num_model_classes
    figures = per_class(counts)
    chosen = figures.occurs if counted is None else counted.cpu()

    def names(mask: Tensor) -> tuple[str, ...]:
        return tuple(name for name, holds in zip(classes, mask.tolist(), strict=True) if holds)

    return ClassificationReport(
        classes=tuple(classes),
        confusion=counts,
        per_class=figures,
        documents=int(counts.sum()),
        accuracy=float(accuracy(counts)),
        macro=_average(figures, chosen),
        micro=_pooled(figures, counts.diagonal(), chosen),
        weighted=_average(figures, figures.support * chosen),
        counted=names(chosen),
        never_predicted=names(chosen & (figures.predicted == 0)),
        without_gold=names(chosen & (figures.support == 0)),
        not_in_training=names((figures.support > 0) & (torch.arange(len(classes)) >= known)),
    )


def _average(figures: PerClass, weight: Tensor) -> Average:
    return Average(*(float(_mean(value, weight)) for value in (figures.precision, figures.recall, figures.f1)))


def _pooled(figures: PerClass, hits: Tensor, chosen: Tensor) -> Average:
    """The micro average over the chosen classes; NaN without any document."""
    right, given, gold = (int(count[chosen].sum()) for count in (hits, figures.predicted, figures.support))
    if not bool(figures.occurs.any()):
        return Average(math.nan, math.nan, math.nan)
    return Average(right / max(given, 1), right / max(gold, 1), 2 * right / max(given + gold, 1))


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """part / whole in float64, 0 where the whole is 0."""
    return part.to(torch.float64) / whole.clamp(min=1)


def _mean(value: Tensor, weight: Tensor) -> Tensor:
    """Mean over the last axis, weighted; NaN without any weight."""
    return (value * weight).sum(-1) / weight.sum(-1)
