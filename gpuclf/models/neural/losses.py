"""What a network learns to make small."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

LossName = Literal["cross_entropy", "margin"]


def mean_loss(kind: LossName, scores: Tensor, labels: Tensor) -> Tensor:
    """(…) means over documents: scores (…, B, K), labels (…, B) int64.

    cross_entropy: -log softmax (3.18); margin: how far the best wrong class is above the right one less 1 (3.20).
    """
    if kind == "cross_entropy":
        each = cross_entropy(scores.flatten(0, -2), labels.flatten(), reduction="none").view(labels.shape)
        return each.mean(-1)
    right = torch.gather(scores, -1, labels[..., None])[..., 0]
    is_right = torch.arange(scores.shape[-1], device=scores.device) == labels[..., None]
    wrong = scores.masked_fill(is_right, -torch.inf).amax(-1)
    return torch.clamp(1 + wrong - right, min=0).mean(-1)
