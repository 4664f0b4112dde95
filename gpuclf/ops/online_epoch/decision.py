"""What an online rule does with the scores of one instance: the table of `Rule` as tensor operations."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from gpuclf.ops.online_epoch.records import Rule


class Decision(NamedTuple):
    """Each (…): step length alpha float64, 0 for no update; rival class int64; wrong prediction bool; loss float64;
    limited bool: the step's length depends on C.
    """

    alpha: Tensor
    rival: Tensor
    mistake: Tensor
    loss: Tensor
    limited: Tensor

    def direction(self, label: Tensor, classes: int) -> Tensor:
        """(…, K) float64: 1 for the gold class, -1 for the rival. label broadcasts against (…)."""
        gold = one_hot(label.expand(self.rival.shape), classes)
        return (gold - one_hot(self.rival, classes)).to(torch.float64)


def decide(rule: Rule, C: Tensor, gamma: Tensor, scores: Tensor, label: Tensor, square: Tensor) -> Decision:
    """The rule on scores (…, K); C, gamma, label and square = |x|² (offset included) broadcast against (…).

    Margins and step lengths are float64. torch's argmax gives any of several maxima, so ties are broken here.
    """
    s = scores.to(torch.float64)
    classes = s.shape[-1]
    label = label.expand(s.shape[:-1])
    if classes == 1:
        nothing = torch.zeros_like(s[..., 0])
        never = torch.zeros_like(label, dtype=torch.bool)
        return Decision(nothing, label, never, nothing, never)
    mistake = first_argmax(s) != label
    gold = one_hot(label, classes).bool()
    height = s + rule.cost[label] if rule.cost is not None and rule.cost_augmented else s
    # a diverged score is no reason to fail here: the gold class stays out even where every other one is -inf or NaN
    rival = first_argmax(height.nan_to_num(nan=torch.finfo(s.dtype).min).masked_fill(gold, -torch.inf))
    margin = s.gather(-1, label[..., None])[..., 0] - s.gather(-1, rival[..., None])[..., 0]
    if rule.step == "perceptron":
        return Decision(mistake.to(torch.float64), rival, mistake, (-margin).clamp(min=0.0), torch.zeros_like(mistake))
    if rule.scaled_margin:
        target = gamma * torch.sqrt(2.0 * square)
    else:
        target = torch.ones_like(margin) if rule.cost is None else rule.cost[label, rival]
    update = margin < target if rule.update_on == "margin" else mistake
    denominator = 2.0 * square + (0.5 / C if rule.step == "pa2" else 0.0)
    alpha = torch.where(update, (target - margin) / denominator, 0.0)
    limited = alpha > (C if rule.step == "pa1" else 0.0)
    if rule.step == "pa1":
        alpha = torch.minimum(alpha, C)
    return Decision(alpha, rival, mistake, (target - margin).clamp(min=0.0), limited)


def first_argmax(values: Tensor) -> Tensor:
    """Lowest index of the maximum over the last axis."""
    index = torch.arange(values.shape[-1], device=values.device)
    return torch.where(values == values.amax(-1, keepdim=True), index, values.shape[-1] - 1).amin(-1)
