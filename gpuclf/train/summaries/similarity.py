"""A similarity that is learnt from snippets which somebody has clustered: how much a shared feature tells.

A feature (a folded word, a character n-gram) that pairs of snippets of one cluster share more often than pairs of
different clusters of the same business and aspect tells that snippets belong together. Its weight is how often it does,
beside how often any pair is of one cluster: with s and d the pairs that share it, of one cluster and of two, and S and
D all pairs,

    w = (s + m·S/(S + D)) / (d + m·D/(S + D)) · D/S,

bounded by 1/20 and 20. m pairs that say nothing draw rare features to weight 1. In a cosine the weight of a product is
w^(1/2), so a value counts w^(1/4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.vectors import SnippetRows, snippet_rows

PRIOR_PAIRS = 2.0
_BOUND = 20.0
_POWER = 0.25


@dataclass(frozen=True)
class Taught:
    """Snippets that somebody has clustered: clusters has the number of each within its business and aspect."""

    snippets: Sequence[Snippet]
    clusters: Sequence[int]


def learnt_rows(texts: Sequence[str], taught: Taught, word_share: float) -> SnippetRows:
    """`snippet_rows` of the texts, with idf counted over the taught snippets as well, weighed by what these teach."""
    everything = snippet_rows([*texts, *(snippet.text for snippet in taught.snippets)], word_share)
    untaught = torch.full((len(texts),), -1)
    group = numbered([(snippet.business, snippet.aspect) for snippet in taught.snippets])
    cluster = torch.tensor(list(taught.clusters), dtype=torch.int64)
    weights = pair_weights(everything, torch.cat([untaught, group]), torch.cat([untaught, cluster]))
    return weighted(everything.select(torch.arange(len(texts))), weights)


def pair_weights(rows: SnippetRows, group: Tensor, cluster: Tensor) -> Tensor:
    """(width,) float64: w of each feature. group, cluster (snippets,) int64, the cluster within its group; snippets of
    a negative group teach nothing. All 1 where no pair of one cluster, or of two, is there."""
    taught = group >= 0
    together = torch.where(taught, group * (int(cluster.max()) + 1 if cluster.numel() else 1) + cluster, -1)
    one, every = _pairs(together[taught]).sum(), _pairs(group[taught]).sum()
    if not one or one == every:
        return torch.ones(rows.width, dtype=torch.float64, device=rows.val.device)
    same = _sharing_pairs(rows, together)
    different = _sharing_pairs(rows, group) - same
    share = one / every
    odds = (same + PRIOR_PAIRS * share) / (different + PRIOR_PAIRS * (1 - share))
    return (odds * (1 - share) / share).clamp(1 / _BOUND, _BOUND)


def weighted(rows: SnippetRows, weights: Tensor) -> SnippetRows:
    """Rows with each value times w^(1/4), of length 1 again."""
    val = rows.val * weights[rows.col] ** _POWER
    owner = rows.entry_rows()
    squares = torch.zeros(rows.crow.numel() - 1, dtype=torch.float64, device=val.device)
    squares.index_add_(0, owner, val * val)
    return SnippetRows(rows.crow, rows.col, val / squares.sqrt()[owner], rows.width)


def numbered(names: Sequence[object]) -> Tensor:
    """(names,) int64: equal names by the same number, in order of appearance."""
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return torch.tensor([number[name] for name in names], dtype=torch.int64)


def _sharing_pairs(rows: SnippetRows, key: Tensor) -> Tensor:
    """(width,) float64: how many pairs of snippets with equal keys, not negative, share each feature."""
    entry = key[rows.entry_rows()]
    kept = entry >= 0
    cell, count = torch.unique(entry[kept] * rows.width + rows.col[kept], return_counts=True)
    pairs = torch.zeros(rows.width, dtype=torch.float64, device=rows.val.device)
    return pairs.index_add_(0, cell % rows.width, (count * (count - 1) // 2).to(torch.float64))


def _pairs(key: Tensor) -> Tensor:
    """How many pairs each distinct key makes."""
    count = torch.unique(key, return_counts=True)[1]
    return (count * (count - 1) // 2).to(torch.float64)
