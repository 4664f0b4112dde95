"""Linear chains: sums and maxima over all label sequences of many sentences, for many replicas at once.

The score of labels y of a sentence of n tokens is Σ_i nodes[i, y_i] + Σ_{i>0} transition[y_{i-1}, y_i]. Scores of the
first and of the last label belong to the nodes there. A conditional random field (Lafferty, McCallum & Pereira 2001)
learns with these sums, and a hidden Markov model is the case of log probabilities (Rabiner 1989).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from torch import Tensor

from gpuclf.ops.chain_sums.records import ChainSums

__all__ = ["ChainSums", "best_scores", "chain_sums"]

KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type -> module here; a device that is not listed runs the reference


def chain_sums(nodes: Tensor, starts: Tensor, transition: Tensor, weights: Tensor) -> ChainSums:
    """Normaliser, label probabilities and expected transitions of every sentence (forward-backward).

    nodes (tokens, R, K) float32 or float64, contiguous; starts (sentences+1,) int64: sentence s has the tokens from
    starts[s] to starts[s+1], none is a sentence of normaliser 0; transition (R, K, K) float64, from the label before to
    the label after; weights (sentences, R) float64 ≥ 0: what a sentence's probabilities are multiplied with; one of
    weight 0 is passed over and gives zeros. -inf forbids a label or a transition; a sentence without a possible
    sequence has normaliser -inf and probabilities 0. Sums are float64 in an order that does not depend on threads or
    on the other replicas.
    """
    sums: ChainSums = _kernel(nodes).chain_sums(nodes, starts, transition, weights)
    return sums


def best_scores(nodes: Tensor, starts: Tensor, transition: Tensor) -> Tensor:
    """The score (tokens, R, K) float64 of the best sequence with each label at each token (max-marginals).

    Shapes as above. Where one sequence is best alone, the highest label of every token is that sequence (Viterbi).
    """
    best: Tensor = _kernel(nodes).best_scores(nodes, starts, transition)
    return best


def _kernel(nodes: Tensor) -> ModuleType:
    return import_module(f"{__name__}.{KERNELS.get(nodes.device.type, 'reference')}")
