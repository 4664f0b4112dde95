"""Sums and maxima over chains on the CPU: pieces are blocks of sentences, added up in their order.

Sums run on probabilities scaled token by token (Rabiner 1989, section V.A), which takes products where log space takes
exponentials. Where a step's scores lie so far apart that a probability could vanish or a ratio overflow, or where
something is forbidden, the sentence is walked in log space instead.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.chain_sums.cpu_log_walk import backward_best, forward_best, log_walk
from gpuclf.ops.chain_sums.cpu_scaled_walk import padded, scaled_walk
from gpuclf.ops.chain_sums.records import ChainSums
from gpuclf.ops.exponentials import exponentials
from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads

_BLOCK = 64  # sentences of a piece: a constant, so that sums do not depend on the threads
_FEW = 8  # sentences that all replicas walk before the next ones: their scores stay in the cache
_SPREAD = 500.0  # between the scores of one step, in nats: e^-500 is far from the end of float64


def chain_sums(nodes: Tensor, starts: Tensor, transition: Tensor, weights: Tensor) -> ChainSums:
    """See the package."""
    sentences, (_, replicas, classes) = starts.numel() - 1, nodes.shape
    log_norm, probability = torch.zeros_like(weights), torch.empty_like(nodes)
    blocks = range(0, sentences, _BLOCK)
    pairs = np.zeros((len(blocks), replicas, classes, classes))
    longest = int(starts.diff().max()) if sentences else 0
    moves = transition.contiguous().numpy()
    shared = (nodes.numpy(), starts.numpy(), moves, *_tables(moves), weights.contiguous().numpy())
    outs = (log_norm.numpy(), probability.numpy())
    run_on_threads(
        [
            partial(_sum_block, *shared, first, min(first + _BLOCK, sentences), longest, *outs, pairs[place])
            for place, first in enumerate(blocks)
        ]
    )
    return ChainSums(log_norm, probability, torch.from_numpy(_added(pairs)))


def _tables(transition):
    """Of every replica the transitions' exponentials, e^-shift of them, in rows of whole vectors and transposed, both
    (R, K · W); shift and spread (R,): their highest, and how far below it the lowest is."""
    replicas, classes, _ = transition.shape
    rise, fall = (np.zeros((replicas, classes, padded(classes))) for _ in range(2))
    shift, spread = np.zeros(replicas), np.full(replicas, np.inf)
    for replica, own in enumerate(transition):
        highest = own.max() if own.size else 0.0
        if np.isfinite(highest):
            shift[replica], spread[replica] = highest, highest - own.min() if own.size else 0.0
        rise[replica, :, :classes] = np.exp(own - shift[replica])
        fall[replica, :, :classes] = rise[replica, :, :classes].T
    return rise.reshape(replicas, -1), fall.reshape(replicas, -1), shift, spread


def _added(pairs):
    """The sums of all blocks, in their order."""
    total = np.zeros(pairs.shape[1:])
    for part in pairs:
        total += part
    return total


def best_scores(nodes: Tensor, starts: Tensor, transition: Tensor) -> Tensor:
    """See the package."""
    sentences, replicas = starts.numel() - 1, nodes.shape[1]
    best = torch.empty(nodes.shape, dtype=torch.float64)
    pieces = []
    for replica in range(replicas):
        arrays = (nodes[:, replica].numpy(), starts.numpy(), transition[replica].numpy())
        for first in range(0, sentences, _BLOCK):
            span = np.array([first, min(first + _BLOCK, sentences)])
            pieces.append(partial(_best_block, *arrays, span, best[:, replica].numpy()))
    run_on_threads(pieces)
    return best


@kernel
def _sum_block(
    nodes, starts, transition, rise, fall, shift, spread, weights, first, last, longest, log_norm, probability, pairs
):
    """The sentences first … last - 1, a few at a time for all replicas, whose scores lie side by side; pairs (R, K, K)
    is filled."""
    replicas, classes = transition.shape[:2]
    width = padded(classes)
    together = np.zeros((replicas, classes * width))
    work = np.empty((3, longest * width))
    row = np.empty(width)
    for start in range(first, last, _FEW):
        for r in range(replicas):
            for sentence in range(start, min(start + _FEW, last)):
                begin, end = starts[sentence], starts[sentence + 1]
                weight = weights[sentence, r]
                if weight == 0.0 or begin == end:
                    log_norm[sentence, r] = 0.0
                    probability[begin:end, r] = 0.0
                    continue
                total, near = _exponentials(nodes, begin, end, r, spread[r], width, work[0], work[1], work[2])
                if near:
                    e, alpha, beta, expected = work[1], work[2], work[0], together[r]
                    total += scaled_walk(
                        e, rise[r], fall[r], classes, width, end - begin, weight, alpha, beta, row, expected
                    )
                    log_norm[sentence, r] = total + (end - begin - 1) * shift[r]
                    _multiply(alpha, beta, width, probability, begin, end, r)
                else:
                    size = classes * (end - begin)
                    forward = work[2, :size].reshape(end - begin, classes)
                    backward = work[0, :size].reshape(end - begin, classes)
                    log_norm[sentence, r] = log_walk(
                        nodes[begin:end, r],
                        transition[r],
                        weight,
                        forward,
                        backward,
                        probability[begin:end, r],
                        pairs[r],
                    )
    for r in range(replicas):
        for before in range(classes):
            for after in range(classes):
                at = before * width + after
                pairs[r, before, after] += together[r, at] * rise[r, at]


@kernel
def _exponentials(nodes, begin, end, r, spread, width, scores, e, scratch):
    """Fills e (tokens · width,) with exp(score - the token's highest), 0 in the padding; returns the sum of the
    highest, and whether all is near enough, else e is not filled."""
    total = 0.0
    replicas, classes = nodes.shape[1:]
    flat = nodes.reshape(-1)
    for token in range(begin, end):
        to, at = (token - begin) * width, (token * replicas + r) * classes
        low, high = np.inf, -np.inf
        for label in range(classes):
            score = np.float64(flat[at + label])
            scores[to + label] = score
            low, high = min(low, score), max(high, score)
        if not (high - low + spread < _SPREAD):
            return 0.0, False
        total += high
        for label in range(classes):
            scores[to + label] -= high
        for pad in range(classes, width):
            scores[to + pad] = 0.0
    size = (end - begin) * width
    exponentials(scores[:size], e[:size], scratch[:size])
    for token in range(end - begin):
        for pad in range(classes, width):
            e[token * width + pad] = 0.0
    return total, True


@kernel
def _multiply(alpha, beta, width, probability, begin, end, r):
    """Fills the probabilities of a sentence with products (tokens · width,)."""
    replicas, classes = probability.shape[1:]
    flat = probability.reshape(-1)
    for token in range(end - begin):
        at, to = token * width, ((begin + token) * replicas + r) * classes
        for label in range(classes):
            flat[to + label] = alpha[at + label] * beta[at + label]


@kernel
def _best_block(nodes, starts, transition, span, best):
    for sentence in range(span[0], span[1]):
        begin, end = starts[sentence], starts[sentence + 1]
        if begin == end:
            continue
        alpha = np.empty((end - begin, nodes.shape[1]))
        beta = np.empty_like(alpha)
        forward_best(nodes[begin:end], transition, alpha)
        backward_best(nodes[begin:end], transition, beta)
        for i in range(end - begin):
            for label in range(nodes.shape[1]):
                best[begin + i, label] = alpha[i, label] + beta[i, label]
