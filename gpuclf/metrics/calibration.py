"""How far probabilities can be believed: reliability curve and expected calibration error (Guo et al. 2017, eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Reliability:
    """Documents by confidence, in equal bins of [0, 1]; a confidence on an inner edge belongs to the lower bin.

    edges (B+1,) float64; documents (B,) int64; confidence (mean) and accuracy (B,) float64, NaN in an empty bin.
    """

    edges: Tensor
    documents: Tensor
    confidence: Tensor
    accuracy: Tensor

    def to_json(self) -> dict[str, list[float | None]]:
        """The curve as plain values; None for the figures of an empty bin."""
        columns = {name: getattr(self, name).tolist() for name in ("edges", "documents", "confidence", "accuracy")}
        return {name: [None if value != value else value for value in column] for name, column in columns.items()}

    @property
    def expected_calibration_error(self) -> float:
        """Mean distance between accuracy and confidence, bins weighted by their documents; NaN without documents."""
        gap = torch.nan_to_num((self.accuracy - self.confidence).abs())
        return float((gap * self.documents).sum() / self.documents.sum())


def reliability_curve(confidence: Tensor, correct: Tensor, bins: int = 15) -> Reliability:
    """Of the confidence (n,) in [0, 1] with which something was said, and whether it was right (n,) bool."""
    edges = torch.linspace(0, 1, bins + 1, dtype=torch.float64, device=confidence.device)
    confidence = confidence.to(torch.float64).contiguous()
    member = torch.searchsorted(edges[1:-1], confidence)[:, None] == torch.arange(bins, device=confidence.device)
    documents = member.sum(0)
    sums = (member * confidence[:, None]).sum(0)
    right = (member & correct[:, None]).sum(0)
    return Reliability(edges, documents, sums / documents, right.to(torch.float64) / documents)


def top_class_reliability(prob: Tensor, gold: Tensor, bins: int = 15) -> Reliability:
    """Of the predicted class of each document: prob (n, K), gold (n,); ties go to the lowest class number."""
    confidence = prob.max(dim=-1).values
    return reliability_curve(confidence, prob.argmax(dim=-1) == gold, bins)


def expected_calibration_error(prob: Tensor, gold: Tensor, bins: int = 15) -> float:
    """Of the predicted classes of prob (n, K), gold (n,); NaN without documents."""
    return top_class_reliability(prob, gold, bins).expected_calibration_error
