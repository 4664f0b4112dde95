"""Figures of tokens that have an aspect or none: of the pooled aspects, of any aspect, and of the likeliest tokens.

`outside` is the number of the class of tokens without an aspect; -1 where the data have no such class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gpuclf.metrics.classification import Average, per_class

TOP_SHARES = (0.05, 0.1, 0.2)  # of all tokens, those that are likeliest to have an aspect


def aspect_f1(counts: Tensor, outside: int) -> Tensor:
    """Micro F1 over all classes but `outside`, (...) float64, of confusion matrices (..., K, K): 0 where no token has
    an aspect in gold or predictions. A right token counts for its own aspect only."""
    return _pooled(*_aspects(counts, outside))[2]


def any_aspect_f1(counts: Tensor, outside: int) -> Tensor:
    """F1 of "has an aspect", whichever, (...) float64."""
    return _pooled(*_any_aspect(counts, outside))[2]


def aspect_figures(counts: Tensor, outside: int) -> dict[str, Any]:
    """Precision, recall and F1 of one confusion matrix (K, K), gold in rows: pooled over the aspects, the mean of their
    F1 over those that occur, and of any aspect against none."""
    values: dict[str, Any] = {}
    for name, parts in (("aspect", _aspects(counts, outside)), ("any_aspect", _any_aspect(counts, outside))):
        figures = Average(*(float(value) for value in _pooled(*parts)))
        values |= {f"{name}_precision": figures.precision, f"{name}_recall": figures.recall, f"{name}_f1": figures.f1}
    each = per_class(counts)
    occurs = each.occurs & _inside(counts.shape[-1], outside, counts.device)
    values["macro_aspect_f1"] = float(each.f1[occurs].mean()) if bool(occurs.any()) else 0.0
    return values


def top_token_figures(outside_score: Tensor, has_aspect: Tensor, shares: Sequence[float] = TOP_SHARES) -> list[Any]:
    """Recall and precision of "has an aspect" among the share of tokens that are likeliest to have one.

    outside_score (n,): the score of `outside`, lowest first (ties by place); has_aspect (n,) bool: in gold.
    """
    order = torch.sort(outside_score, stable=True).indices
    hits = has_aspect[order].to(torch.int64).cumsum(0)
    rows = []
    for share in shares:
        tokens = round(share * order.numel())
        if tokens:
            found = int(hits[tokens - 1])
            recall = found / max(1, int(has_aspect.sum()))
            rows.append({"share": share, "tokens": tokens, "recall": recall, "precision": found / tokens})
    return rows


def _inside(classes: int, outside: int, device: torch.device) -> Tensor:
    return torch.arange(classes, device=device) != outside


def _aspects(counts: Tensor, outside: int) -> tuple[Tensor, Tensor, Tensor]:
    """Right, predicted and gold tokens of all aspects, each (...)."""
    inside = _inside(counts.shape[-1], outside, counts.device)
    hits = counts.diagonal(dim1=-2, dim2=-1)[..., inside].sum(-1)
    return hits, counts.sum(-2)[..., inside].sum(-1), counts.sum(-1)[..., inside].sum(-1)


def _any_aspect(counts: Tensor, outside: int) -> tuple[Tensor, Tensor, Tensor]:
    inside = _inside(counts.shape[-1], outside, counts.device)
    _, predicted, gold = _aspects(counts, outside)
    return counts[..., inside, :][..., inside].sum((-2, -1)), predicted, gold


def _pooled(hits: Tensor, predicted: Tensor, gold: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Precision, recall, F1, each (...) float64; 0 where a figure divides by nothing."""
    right = hits.to(torch.float64)
    return (
        right / predicted.clamp(min=1),
        right / gold.clamp(min=1),
        2 * right / (predicted + gold).clamp(min=1),
    )
