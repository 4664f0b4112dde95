"""Forward-backward as one Triton program for some sentences of a replica, in log space and float64.

K is padded to a power of two; the transitions and their expected numbers stay in registers. Programs share no output
cell: each has expected transitions of its own, which are added up in order afterwards.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language import tensor

from gpuclf.ops.chain_sums.records import ChainSums

_BLOCK = 16  # sentences of a program
_LOWEST = -float("inf")


def chain_sums(nodes: Tensor, starts: Tensor, transition: Tensor, weights: Tensor) -> ChainSums:
    """See the package; at least one token."""
    sentences, (_, replicas, classes) = starts.numel() - 1, nodes.shape
    blocks = triton.cdiv(sentences, _BLOCK)
    log_norm, probability = torch.zeros_like(weights), torch.empty_like(nodes)
    alpha = torch.empty(nodes.shape, dtype=torch.float64, device=nodes.device)
    pairs = torch.empty((blocks, *transition.shape), dtype=torch.float64, device=nodes.device)
    side = max(2, triton.next_power_of_2(classes))
    _sum_kernel[(blocks * replicas,)](
        nodes, starts, transition.contiguous(), weights.contiguous(), alpha, log_norm, probability, pairs,
        sentences, replicas, classes, SIDE=side, BLOCK=_BLOCK, LOWEST=_LOWEST,
        num_warps=max(1, min(16, side * side // 256)),  # two tables of float64 fill the registers of fewer
    )  # fmt: skip
    return ChainSums(log_norm, probability, pairs.sum(0))


@triton.jit
def _log_sum(values: tensor, axis: tl.constexpr, LOWEST: tl.constexpr) -> tensor:
    """log Σ exp along an axis; -inf where all are."""
    highest = tl.max(values, axis)
    safe = tl.where(highest > LOWEST, highest, 0.0)
    total = tl.sum(tl.exp(values - tl.expand_dims(safe, axis)), axis)
    return tl.where(total > 0.0, safe + tl.log(tl.where(total > 0.0, total, 1.0)), LOWEST)


@triton.jit
def _sum_kernel(
    nodes: tensor, starts: tensor, transition: tensor, weights: tensor, alphas: tensor, log_norm: tensor,
    probability: tensor, pairs: tensor, sentences: tensor, replicas: tensor, classes: tensor,
    SIDE: tl.constexpr, BLOCK: tl.constexpr, LOWEST: tl.constexpr,
) -> None:  # fmt: skip
    program = tl.program_id(0)
    block, replica = program // replicas, program % replicas
    labels = tl.arange(0, SIDE)
    real = labels < classes
    square = labels[:, None] * classes + labels[None, :]
    both = real[:, None] & real[None, :]
    moves = tl.load(transition + replica * classes * classes + square, mask=both, other=LOWEST)
    expected = tl.zeros((SIDE, SIDE), dtype=tl.float64)
    last = tl.minimum((block + 1) * BLOCK, sentences)
    for sentence in range(block * BLOCK, last):
        begin, end = tl.load(starts + sentence), tl.load(starts + sentence + 1)
        weight = tl.load(weights + sentence * replicas + replica)
        if end > begin:
            if weight == 0.0:
                for token in range(begin, end):
                    at = (token * replicas + replica) * classes + labels
                    tl.store(probability + at, tl.zeros((SIDE,), dtype=tl.float64), mask=real)
            else:
                at = (begin * replicas + replica) * classes + labels
                alpha = tl.load(nodes + at, mask=real, other=LOWEST).to(tl.float64)
                tl.store(alphas + at, alpha, mask=real)
                for token in range(begin + 1, end):
                    at = (token * replicas + replica) * classes + labels
                    node = tl.load(nodes + at, mask=real, other=LOWEST).to(tl.float64)
                    alpha = node + _log_sum(alpha[:, None] + moves, 0, LOWEST)
                    tl.store(alphas + at, alpha, mask=real)
                norm = _log_sum(alpha[None, :], 1, LOWEST)
                norm = tl.sum(norm, 0)
                tl.store(log_norm + sentence * replicas + replica, norm)
                norm = tl.where(norm > LOWEST, norm, -LOWEST)  # exp(-inf): no probability where there is none
                beta = tl.where(real, tl.zeros((SIDE,), dtype=tl.float64), LOWEST)
                tl.debug_barrier()  # what was stored is loaded again
                for back in range(begin, end):
                    token = end - 1 - (back - begin)
                    at = (token * replicas + replica) * classes + labels
                    alpha = tl.load(alphas + at, mask=real, other=LOWEST)
                    tl.store(probability + at, weight * tl.exp(alpha + beta - norm), mask=real)
                    if token > begin:
                        node = tl.load(nodes + at, mask=real, other=LOWEST).to(tl.float64)
                        before = tl.load(alphas + at - replicas * classes, mask=real, other=LOWEST)
                        into = moves + (node + beta)[None, :]
                        expected += weight * tl.exp(before[:, None] + into - norm)
                        beta = _log_sum(into, 1, LOWEST)
    own = (block * replicas + replica) * classes * classes
    tl.store(pairs + own + square, expected, mask=both)
