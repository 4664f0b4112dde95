"""The walk through a block as one Triton program per stream and replica."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import tensor

from gpuclf.ops.online_epoch import torch_walk
from gpuclf.ops.online_epoch.decision import Decision
from gpuclf.ops.online_epoch.records import Rule

_STEPS = {"perceptron": 0, "pa1": 1, "pa2": 2}


def walk(rule: Rule, C: Tensor, gamma: Tensor, scores: Tensor, gram: Tensor, label: Tensor, valid: Tensor) -> Decision:
    """See `torch_walk.walk`; K is padded to a power of two. A single class leaves nothing to walk for."""
    streams, size, replicas, classes = scores.shape
    if classes == 1 or not scores.numel():
        return torch_walk.walk(rule, C, gamma, scores, gram, label, valid)
    shape, device = (streams, size, replicas), scores.device
    alpha = torch.zeros(shape, dtype=torch.float64, device=device)
    rival = torch.zeros(shape, dtype=torch.int64, device=device)
    mistake = torch.zeros(shape, dtype=torch.int32, device=device)
    loss = torch.zeros(shape, dtype=torch.float64, device=device)
    limited = torch.zeros(shape, dtype=torch.int32, device=device)
    cost = torch.ones((1, 1), dtype=torch.float64, device=device) if rule.cost is None else rule.cost.contiguous()
    _walk_kernel[(streams * replicas,)](
        scores.contiguous(), gram.contiguous(), label.contiguous(), valid.to(torch.int32).contiguous(),
        C.contiguous(), gamma.contiguous(), cost, alpha, rival, mistake, loss, limited,
        size, replicas, classes,
        STEP=_STEPS[rule.step], ON_MARGIN=rule.update_on == "margin", SCALED=rule.scaled_margin,
        COSTS=rule.cost is not None, AUGMENTED=rule.cost is not None and rule.cost_augmented,
        ROWS=triton.next_power_of_2(size), CLASSES=triton.next_power_of_2(classes),
        enable_fp_fusion=False,  # every product is rounded, as on the CPU
    )  # fmt: skip
    return Decision(alpha, rival, mistake.bool(), loss, limited.bool())


@triton.jit
def _walk_kernel(
    scores: tensor, gram: tensor, label: tensor, valid: tensor, C: tensor, gamma: tensor, cost: tensor,
    alpha_out: tensor, rival_out: tensor, mistake_out: tensor, loss_out: tensor, limited_out: tensor,
    size: tensor, replicas: tensor, classes: tensor,
    STEP: tl.constexpr, ON_MARGIN: tl.constexpr, SCALED: tl.constexpr, COSTS: tl.constexpr, AUGMENTED: tl.constexpr,
    ROWS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    g, r = program // replicas, program % replicas
    row, k = tl.arange(0, ROWS), tl.arange(0, CLASSES)
    labels = tl.load(label + g * size + row, mask=row < size, other=0).to(tl.int32)
    # the block's updates so far: step length and rival of every row, 0 until it is visited
    alphas = tl.zeros([ROWS], dtype=tl.float64)
    rivals = tl.zeros([ROWS], dtype=tl.int32)
    limit = tl.load(C + program)
    factor = tl.load(gamma + program)
    for b in range(size):
        at = g * size + b
        y = tl.load(label + at).to(tl.int32)
        dots = tl.load(gram + at * size + row, mask=row < size, other=0.0)
        s = tl.load(scores + (at * replicas + r) * classes + k, mask=k < classes, other=-float("inf"))
        moved = dots * alphas.to(dots.dtype)
        to_gold = tl.where(labels[:, None] == k[None, :], moved[:, None], 0.0)
        to_rival = tl.where(rivals[:, None] == k[None, :], moved[:, None], 0.0)
        s = (s + tl.sum(to_gold - to_rival, axis=0)).to(tl.float64)

        prediction = tl.min(tl.where(s == tl.max(s, axis=0), k, CLASSES), axis=0)
        height = s
        if AUGMENTED:
            height += tl.load(cost + y * classes + k, mask=k < classes, other=0.0)
        height = tl.where((k == y) | (k >= classes), -float("inf"), height)
        top = tl.max(height, axis=0)
        rival = tl.min(tl.where((height == top) & (k != y) & (k < classes), k, CLASSES), axis=0)
        rival = tl.minimum(rival, classes - 1)
        margin = tl.sum(tl.where(k == y, s, 0.0), axis=0) - tl.sum(tl.where(k == rival, s, 0.0), axis=0)
        square = tl.load(gram + at * size + b).to(tl.float64)
        wrong = prediction != y
        real = tl.load(valid + at) != 0

        if STEP == 0:
            target = margin * 0.0
            step = tl.where(wrong, 1.0, 0.0).to(tl.float64)
            depends = wrong & (size < 0)  # never
        else:
            if SCALED:
                target = factor * tl.sqrt(2.0 * square)
            elif COSTS:
                target = tl.load(cost + y * classes + rival)
            else:
                target = margin * 0.0 + 1.0
            denominator = tl.where(real, 2.0 * square, 1.0)  # a row that is only padding has no length
            if STEP == 2:
                denominator += 0.5 / limit
            step = (target - margin) / denominator
            wanted = margin < target if ON_MARGIN else wrong
            step = tl.where(wanted, step, 0.0)
            depends = step > (limit if STEP == 1 else 0.0)
            if STEP == 1:
                step = tl.minimum(step, limit)
        step = tl.where(real, step, 0.0)
        alphas = tl.where(row == b, step, alphas)
        rivals = tl.where(row == b, rival, rivals)
        out = at * replicas + r
        tl.store(alpha_out + out, step)
        tl.store(rival_out + out, rival.to(tl.int64))
        tl.store(mistake_out + out, (wrong & real).to(tl.int32))
        tl.store(limited_out + out, (depends & real).to(tl.int32))
        tl.store(loss_out + out, tl.where(real, tl.maximum(target - margin, 0.0), 0.0))
