"""The tables of all pairs of categorical variables at once: one product of one-hot matrices (tensors on any device)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["joint_counts", "pair_statistics"]

_EXACT = 1 << 24  # counts that float32 holds


def joint_counts(codes: Tensor, num_values: Sequence[int]) -> Tensor:
    """(T, T) float64 counts of every two values, T values of all V variables together: codes (n, V) int, below
    num_values; the table of variables a and b is a block of it."""
    base = torch.tensor([0, *num_values], device=codes.device).cumsum(0)
    kind = torch.float32 if codes.shape[0] < _EXACT else torch.float64
    hot = torch.zeros(codes.shape[0], int(base[-1]), dtype=kind, device=codes.device)
    hot.scatter_(1, codes.long() + base[:-1], 1.0)
    return (hot.T @ hot).double()


def pair_statistics(counts: Tensor, num_values: Sequence[int], documents: int, power: float = 0.0) -> Tensor:
    """(V, V, 3) float64 of all pairs: how far they are from independence, degrees of freedom by the values that occur,
    and by the cells that do (see gpuclf.ops.conditional_tables); counts as of `joint_counts`.

    With L(T) = Σ n ln n over the cells of T: G²(a, b) = 2 [L(ab) + N ln N − L(a) − L(b)].
    """
    device = counts.device
    owner = torch.repeat_interleave(
        torch.arange(len(num_values), device=device), torch.tensor(num_values, device=device)
    )
    block = torch.nn.functional.one_hot(owner, len(num_values)).double()
    single = counts.diagonal()
    if power == 0:
        inside = block.T @ torch.xlogy(counts, counts) @ block
        alone = block.T @ torch.xlogy(single, single)
        whole = documents * torch.log(torch.tensor(float(max(documents, 1)), dtype=torch.float64, device=device))
        distance = 2 * (inside + whole - alone[:, None] - alone[None])
    else:
        expected = torch.outer(single, single) / max(documents, 1)
        ratio = torch.where(counts > 0, counts / expected.clamp(min=1e-300), 0.0)
        total = block.T @ torch.where(counts > 0, counts * ratio**power, 0.0) @ block
        distance = 2 / (power * (power + 1)) * (total - documents)
    cells = block.T @ (counts > 0).double() @ block
    levels = block.T @ (single > 0).double()
    seen = torch.outer(levels - 1, levels - 1).clamp(min=0)
    nonzero = cells + 1 - levels[:, None] - levels[None]
    return torch.stack([distance.clamp(min=0), seen, nonzero], dim=-1)
