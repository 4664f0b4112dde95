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
from gpuclf.ops.chain_sums.records import ChainSums
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
    rise = np.exp(transition - shift)
    shape = (longest, transition.shape[0])
    work = [np.empty(shape) for _ in range(3)]
    tables = (transition, rise, np.ascontiguousarray(rise.T), shift, spread)
    _walk_block(nodes, starts, *tables, weights, span, *work, log_norm, probability, pairs)


@kernel
def _walk_block(
    nodes, starts, transition, rise, fall, shift, spread, weights, span, e, alpha, beta, log_norm, probability, pairs
):
    """span: the block's first and last sentence; e, alpha, beta (longest, K) are worked in, pairs (K, K) added to."""
    together = np.zeros_like(transition)
    apart = np.zeros_like(transition)
    for sentence in range(span[0], span[1]):
        begin, end = starts[sentence], starts[sentence + 1]
        weight = weights[sentence]
        if weight == 0.0 or begin == end:
            log_norm[sentence] = 0.0
            for token in range(begin, end):
                for label in range(nodes.shape[1]):
                    probability[token, label] = 0.0
            continue
        total, near = _emissions(nodes, begin, end, spread, e)
        if near:
            total += _scaled_walk(e, rise, fall, end - begin, weight, alpha, beta, probability[begin:end], together)
            log_norm[sentence] = total + (end - begin - 1) * shift
        else:
            scores = nodes[begin:end]
            log_norm[sentence] = log_walk(scores, transition, weight, alpha, beta, probability[begin:end], apart)
    for before in range(transition.shape[0]):
        for after in range(transition.shape[0]):
            pairs[before, after] = together[before, after] * rise[before, after] + apart[before, after]


@kernel
def _emissions(nodes, begin, end, spread, e):
    """Fills e with exp(score - the token's highest); returns the sum of the highest, and whether all is near enough."""
    total = 0.0
    for token in range(begin, end):
        low, high = np.inf, -np.inf
        for label in range(nodes.shape[1]):
            low, high = min(low, nodes[token, label]), max(high, nodes[token, label])
        if not (high - low + spread < _SPREAD):
            return 0.0, False
        total += high
        for label in range(nodes.shape[1]):
            e[token - begin, label] = np.exp(nodes[token, label] - high)
    return total, True


@kernel
def _scaled_walk(e, rise, fall, length, weight, alpha, beta, probability, together):
    """Returns the log of the sum; adds weight · P(before) P(after | …) to `together`, which lacks the factor `rise`.

    alpha[i] is P(label of token i | tokens to i), beta[i] the ratio by which the rest of the sentence changes it.
    """
    classes = e.shape[1]
    log_sum = 0.0
    for i in range(length):
        row = alpha[i]
        if i == 0:
            row[:] = e[0]
        else:
            row[:] = 0.0
            for before in range(classes):
                share = alpha[i - 1, before]
                for after in range(classes):
                    row[after] += share * rise[before, after]
            for after in range(classes):
                row[after] *= e[i, after]
        total = 0.0
        for label in range(classes):
            total += row[label]
        for label in range(classes):
            row[label] /= total
            e[i, label] /= total
        log_sum += np.log(total)
    beta[length - 1, :] = 1.0
    for i in range(length - 1, -1, -1):
        for label in range(classes):
            probability[i, label] = weight * alpha[i, label] * beta[i, label]
        if i == 0:
            break
        for after in range(classes):
            e[i, after] *= beta[i, after]
        beta[i - 1, :] = 0.0
        for after in range(classes):
            for before in range(classes):
                beta[i - 1, before] += fall[after, before] * e[i, after]
        for before in range(classes):
            share = weight * alpha[i - 1, before]
            for after in range(classes):
                together[before, after] += share * e[i, after]
    return log_sum


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
