"""One sentence in log space, for numba kernels: where scaled probabilities would not hold, and for maxima."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.ops.kernel import kernel


@kernel
def log_walk(nodes: Any, transition: Any, weight: Any, alpha: Any, beta: Any, probability: Any, pairs: Any) -> Any:
    """Returns the log of the sum over label sequences; fills probability (tokens, K), adds to pairs (K, K).

    nodes (tokens, K); alpha, beta (at least tokens, K) are worked in.
    """
    length, classes = nodes.shape
    for label in range(classes):
        alpha[0, label] = nodes[0, label]
        beta[length - 1, label] = 0.0
    column = np.empty(classes)
    for i in range(1, length):
        for after in range(classes):
            for before in range(classes):
                column[before] = alpha[i - 1, before] + transition[before, after]
            alpha[i, after] = nodes[i, after] + _log_sum(column)
    for i in range(length - 1, 0, -1):
        for before in range(classes):
            for after in range(classes):
                column[after] = transition[before, after] + nodes[i, after] + beta[i, after]
            beta[i - 1, before] = _log_sum(column)
    norm = _log_sum(alpha[length - 1])
    for i in range(length):
        for label in range(classes):
            possible = norm > -np.inf
            probability[i, label] = weight * np.exp(alpha[i, label] + beta[i, label] - norm) if possible else 0.0
    if norm > -np.inf:
        for i in range(1, length):
            for before in range(classes):
                for after in range(classes):
                    into = transition[before, after] + nodes[i, after] + beta[i, after]
                    pairs[before, after] += weight * np.exp(alpha[i - 1, before] + into - norm)
    return norm


@kernel
def forward_best(nodes: Any, transition: Any, alpha: Any) -> None:
    """alpha (tokens, K): the best score of the labels up to each token that ends in each label."""
    for label in range(nodes.shape[1]):
        alpha[0, label] = nodes[0, label]
    for i in range(1, nodes.shape[0]):
        alpha[i, :] = -np.inf
        for before in range(nodes.shape[1]):
            for after in range(nodes.shape[1]):
                score = alpha[i - 1, before] + transition[before, after]
                alpha[i, after] = max(alpha[i, after], score)
        for after in range(nodes.shape[1]):
            alpha[i, after] += nodes[i, after]


@kernel
def backward_best(nodes: Any, transition: Any, beta: Any) -> None:
    """beta (tokens, K): the best score of the labels after each token, if it has each label."""
    beta[nodes.shape[0] - 1, :] = 0.0
    for i in range(nodes.shape[0] - 1, 0, -1):
        for before in range(nodes.shape[1]):
            best = -np.inf
            for after in range(nodes.shape[1]):
                best = max(best, transition[before, after] + (nodes[i, after] + beta[i, after]))
            beta[i - 1, before] = best


@kernel
def _log_sum(values: Any) -> Any:
    highest = -np.inf
    for value in values:
        highest = max(highest, value)
    if highest == -np.inf:
        return highest
    total = 0.0
    for value in values:
        total += np.exp(value - highest)
    return highest + np.log(total)
