"""Confusion matrices: whole numbers that add up over portions of documents; every averaged figure comes from one."""

from __future__ import annotations

import torch
from torch import Tensor


def confusion(gold: Tensor, predicted: Tensor, num_classes: int) -> Tensor:
    """Documents by gold class (rows) and predicted class (columns), int64, exact.

    gold (n,) int64, negative for documents without a label, which are left out; predicted (n,) → (K, K), or (R, n) of
    R replicas → (R, K, K). K counts every class that either may hold: labels that training did not know have numbers
    from the model's number of classes on, and their columns stay empty. Matrices of portions add up: counts += ...
    """
    batched, labelled = predicted if predicted.dim() == 2 else predicted[None], gold >= 0
    replicas = batched.shape[0]
    cell = gold[labelled].to(torch.int64) * num_classes + batched[:, labelled].to(torch.int64)
    first = torch.arange(replicas, device=cell.device)[:, None] * (num_classes * num_classes)
    counts = torch.bincount((cell + first).flatten(), minlength=replicas * num_classes * num_classes)
    assert counts.numel() == replicas * num_classes * num_classes, "a class number is beyond num_classes"
    return counts.view(*predicted.shape[:-1], num_classes, num_classes)
