"""Sums and maxima over chains on the CPU: pieces are blocks of sentences of one replica, added up in their order.

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

_BLOCK = 256  # sentences of a piece: a constant, so that sums do not depend on the threads
_SPREAD = 500.0  # between the scores of one step, in nats: e^-500 is far from the end of float64


def chain_sums(nodes: Tensor, starts: Tensor, transition: Tensor, weights: Tensor) -> ChainSums:
    """See the package."""
    sentences, (_, replicas, classes) = starts.numel() - 1, nodes.shape
    blocks = range(0, sentences, _BLOCK)
    log_norm, probability = torch.zeros_like(weights), torch.empty_like(nodes)
    pairs = np.zeros((len(blocks), replicas, classes, classes))
    longest = int(starts.diff().max()) if sentences else 0
    pieces = []
    for replica in range(replicas):
        own = transition[replica].numpy()
        for place, first in enumerate(blocks):
            span = np.array([first, min(first + _BLOCK, sentences)])
            arrays = (nodes[:, replica].numpy(), starts.numpy(), own, weights[:, replica].numpy(), span)
            outs = (log_norm[:, replica].numpy(), probability[:, replica].numpy(), pairs[place, replica])
            pieces.append(partial(_sum_block, *arrays, longest, *outs))
    run_on_threads(pieces)
    total = np.zeros((replicas, classes, classes))
    for part in pairs:
        total += part
    return ChainSums(log_norm, probability, torch.from_numpy(total))


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


def _sum_block(nodes, starts, transition, weights, span, longest, log_norm, probability, pairs):
    """Makes the tables that all sentences of the block share, and walks them."""
    highest = transition.max() if transition.size else 0.0
    shift = highest if np.isfinite(highest) else 0.0
    spread = highest - transition.min() if np.isfinite(highest) else np.inf
    classes = transition.shape[0]
    width = padded(classes)
    rise = np.zeros((classes, width))
    np.exp(transition - shift, out=rise[:, :classes])
    fall = np.zeros((classes, width))
    fall[:, :classes] = rise[:, :classes].T
    work = [np.empty(longest * width) for _ in range(4)]
    tables = (transition, rise.reshape(-1), fall.reshape(-1), np.arange(classes), shift, spread)
    _walk_block(nodes, starts, *tables, weights, span, *work, np.empty(width), log_norm, probability, pairs)


@kernel
def _walk_block(
    nodes, starts, transition, rise, fall, order, shift, spread, weights, span,
    scores, e, scratch, alpha, row, log_norm, probability, pairs,
):  # fmt: skip
    """span: the block's first and last sentence; scores, e, scratch, alpha (longest · W,) and row (W,) are worked in;
    pairs (K, K) is added to."""
    classes, width = order.size, row.size
    together = np.zeros_like(rise)
    apart = np.zeros_like(transition)
    for sentence in range(span[0], span[1]):
        begin, end = starts[sentence], starts[sentence + 1]
        weight = weights[sentence]
        if weight == 0.0 or begin == end:
            log_norm[sentence] = 0.0
            for token in range(begin, end):
                for label in range(classes):
                    probability[token, label] = 0.0
            continue
        total, near = _differences(nodes, begin, end, spread, width, scores)
        if near:
            size = (end - begin) * width
            exponentials(scores[:size], e[:size], scratch[:size])
            for token in range(end - begin):
                for pad in range(classes, width):
                    e[token * width + pad] = 0.0
            own = probability[begin:end]
            total += scaled_walk(e, rise, fall, order, end - begin, weight, alpha, scores, row, own, together)
            log_norm[sentence] = total + (end - begin - 1) * shift
        else:
            labels = classes * (end - begin)
            own, forward = nodes[begin:end], alpha[:labels].reshape(end - begin, classes)
            backward = scratch[:labels].reshape(end - begin, classes)
            log_norm[sentence] = log_walk(own, transition, weight, forward, backward, probability[begin:end], apart)
    for before in range(classes):
        for after in range(classes):
            at = before * width + after
            pairs[before, after] = together[at] * rise[at] + apart[before, after]


@kernel
def _differences(nodes, begin, end, spread, width, scores):
    """Fills scores (tokens · width,) with those of the nodes, less the token's highest, 0 in the padding; returns the
    sum of the highest, and whether all is near enough."""
    total = 0.0
    classes = nodes.shape[1]
    for token in range(begin, end):
        row = scores[(token - begin) * width : (token - begin + 1) * width]
        low, high = np.inf, -np.inf
        for label in range(classes):
            row[label] = nodes[token, label]
            low, high = min(low, row[label]), max(high, row[label])
        if not (high - low + spread < _SPREAD):
            return 0.0, False
        total += high
        for label in range(classes):
            row[label] -= high
        for pad in range(classes, width):
            row[pad] = 0.0
    return total, True


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
