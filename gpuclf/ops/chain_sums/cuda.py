"""Chains on CUDA: a Triton program walks a few sentences of one replica; the reference where Triton is not installed.

Maxima are the reference's: a prediction walks once, training hundreds of times.
"""

from __future__ import annotations

from importlib.util import find_spec

from torch import Tensor

from gpuclf.ops.chain_sums import reference
from gpuclf.ops.chain_sums.records import ChainSums
from gpuclf.ops.chain_sums.reference import best_scores

__all__ = ["best_scores", "chain_sums"]

_MOST = 128  # labels of whose transitions a program can hold a table


def chain_sums(nodes: Tensor, starts: Tensor, transition: Tensor, weights: Tensor) -> ChainSums:
    """See the package."""
    if find_spec("triton") is None or not nodes.numel() or nodes.shape[2] > _MOST:
        return reference.chain_sums(nodes, starts, transition, weights)
    from gpuclf.ops.chain_sums import triton_walk

    return triton_walk.chain_sums(nodes, starts, transition, weights)
