"""Which model of a sequence is taken, with naive Bayes and its tree-augmented form always in the contest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

import torch
from torch import Tensor

from gpuclf.ops.cell_scores import LOG_ZERO

NAIVE_BAYES, TREE_AUGMENTED, STABLE = -1, -2, -3
_WORST = 700.0  # of −log P: what a row costs whose class has no probability


class Measure(IntEnum):
    """What a model is measured by: right rows (the most frequent class where it covers none), the sum of
    −log P(class | inputs), right rows among those that it covers, and how many these are."""

    RIGHT = 0
    LOSS = 1
    HITS = 2
    COVERS = 3


def measured(scores: Tensor, labels: Tensor, prior: Tensor, rows: Tensor) -> Tensor:
    """(…, 4) float64 (see Measure) by scores (…, n, K), classes (…, n) and prior (…, K), log shares of classes, of the
    rows (…, n) bool."""
    at = torch.nonzero(rows, as_tuple=True)  # few of all: a tenth is held out
    own, gold, shares = scores[at], labels[at], prior[at[:-1]]
    covered = own.max(dim=-1).values > LOG_ZERO / 2
    right = torch.where(covered, own.argmax(dim=-1), shares.argmax(dim=-1)) == gold
    loss = -posterior(own[:, None], shares)[:, 0].gather(-1, gold[:, None])[:, 0]
    loss = loss.clamp(max=_WORST).nan_to_num(nan=_WORST)
    figures = torch.stack([right.double(), loss, (right & covered).double(), covered.double()], dim=-1)
    lengths = rows.sum(-1)
    found: Tensor = torch.segment_reduce(figures, "sum", lengths=lengths.flatten())
    return found.reshape(*lengths.shape, len(Measure))


def posterior(scores: Tensor, prior: Tensor) -> Tensor:
    """log P(class | inputs) (…, n, K) of scores (…, n, K); of rows that a model does not cover the prior (…, K)."""
    covered = scores.max(dim=-1, keepdim=True).values > LOG_ZERO / 2
    return torch.log_softmax(torch.where(covered, scores, prior[..., None, :]), dim=-1)


def pick(
    sequence: Tensor, edges: Sequence[int], rivals: Tensor, rival_edges: Sequence[int], rows: int, by: str, near: bool
) -> int:
    """The place of the best model in its sequence (S, 4), or that of a rival, of which rivals (2, 4) are the measures.

    by: accuracy or log_loss. Ties go to naive Bayes, then to the fewest edges, then to the earlier. near: the one of
    fewest edges among those whose accuracy is at most one standard error below the best (Breiman et al. 1984).
    """
    places = [NAIVE_BAYES, TREE_AUGMENTED, *range(len(sequence))]
    figures = torch.cat([rivals, sequence])
    count = max(rows, 1)
    column = figures[:, Measure.RIGHT] if by == "accuracy" else -figures[:, Measure.LOSS]
    values = [round(value, 9) for value in (column / count).tolist()]
    sizes = [*rival_edges, *edges]
    best = max(values)
    if near:
        margin = math.sqrt(max(best * (1 - best), 0) / count)
        kept = [i for i, value in enumerate(values) if value >= best - margin]
        return places[min(kept, key=lambda i: (sizes[i], i))]
    return places[min(range(len(places)), key=lambda i: (-values[i], i != 0, sizes[i], i))]


def replay(begun: Tensor, moves: Tensor, upto: int) -> Tensor:
    """The graph (V, V) after the first `upto` moves (S, 2) of a search; each toggles its edge."""
    graph = begun.clone()
    for a, b in moves[:upto].tolist():
        if a >= 0:
            graph[a, b] = graph[b, a] = ~graph[a, b]
    return graph


def edges_along(begun: Tensor, moves: Tensor) -> list[int]:
    """How many edges each graph of a search has: the first one (V, V), then after each of its moves (S, 2)."""
    here = {(a, b) for a, b in torch.nonzero(begun.triu()).tolist()}
    counts = [len(here)]
    for a, b in moves.tolist():
        here ^= {(a, b)}
        counts.append(len(here))
    return counts
