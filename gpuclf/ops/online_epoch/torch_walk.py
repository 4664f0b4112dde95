"""The walk through a block in plain torch: all streams and replicas in lockstep, one row after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.online_epoch.blocks import only_valid
from gpuclf.ops.online_epoch.decision import Decision, decide
from gpuclf.ops.online_epoch.records import Rule


def walk(rule: Rule, C: Tensor, gamma: Tensor, scores: Tensor, gram: Tensor, label: Tensor, valid: Tensor) -> Decision:
    """Decisions of the rows of a block, each made with the updates of the rows before it.

    C, gamma (G, R'), scores (G, B, R', K) with the weights before the block, gram (G, B, B) = X Xᵀ, label and
    valid (G, B). An update alpha · (e_y - e_rival) xᵀ at row a adds alpha · (e_y - e_rival) · x_a·x_b to the scores of
    row b: exactly what scoring row b with the new weights would give.
    """
    scores = scores.clone()
    made = []
    for b in range(scores.shape[1]):
        gold = label[:, b, None]
        square = gram[:, b, b, None].to(torch.float64)
        now = decide(rule, C, gamma, scores[:, b], gold, square)
        now = now._replace(alpha=torch.where(valid[:, b, None], now.alpha, 0.0))
        change = (now.alpha[..., None] * now.direction(gold, scores.shape[-1])).to(scores.dtype)
        scores[:, b + 1 :] += gram[:, b + 1 :, b, None, None] * change[:, None]
        made.append(now)
    return only_valid(Decision(*(torch.stack(parts, 1) for parts in zip(*made, strict=True))), valid)
