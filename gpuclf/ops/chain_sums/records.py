"""What the sums over chains give."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class ChainSums:
    """log_norm (sentences, R) float64: log of the sum over all label sequences; probability (tokens, R, K) in the type
    of the nodes: P(label | sentence), times the sentence's weight; pairs (R, K, K) float64: expected transitions
    between neighbouring tokens, likewise weighted, summed over all sentences."""

    log_norm: Tensor
    probability: Tensor
    pairs: Tensor
