"""What induced tags are worth beside gold tags: mappings (many-to-one, one-to-one) and information (V, VI, NVI)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_LOG2 = 0.6931471805599453


class ClusteringFigures(NamedTuple):
    """Figures of R clusterings, each (R,) float64 but tags_used (R,) int64. Over nothing all are NaN.

    many_to_one: share right when each tag means its commonest gold tag. one_to_one: when at most one tag means a gold
    tag, by the best assignment (Hungarian algorithm); one_to_one_greedy: by always taking the largest cell left
    (Haghighi & Klein 2006). homogeneity, completeness, v_measure: Rosenberg & Hirschberg 2007, as scikit-learn has them
    (1 where there is nothing to tell apart). variation_of_information in bits (Meilă 2007); nvi: divided by the entropy
    of the gold tags, or where that is 0 the entropy of the tags in bits (Reichart & Rappoport 2009).
    """

    many_to_one: Tensor
    one_to_one: Tensor
    one_to_one_greedy: Tensor
    homogeneity: Tensor
    completeness: Tensor
    v_measure: Tensor
    variation_of_information: Tensor
    nvi: Tensor
    tags_used: Tensor


def clustering_confusion(tags: Tensor, gold: Tensor, num_tags: int, num_gold: int) -> Tensor:
    """Items by tag (rows) and gold tag (columns): int64 (K, G) of tags (n,), or (R, K, G) of tags (R, n).

    gold (n,) int64, negative for items without one, which are left out. Confusions of portions add up.
    """
    batched, known = tags if tags.dim() == 2 else tags[None], gold >= 0
    chains, size = batched.shape[0], num_tags * num_gold
    cell = batched[:, known].to(torch.int64) * num_gold + gold[known].to(torch.int64)
    first = torch.arange(chains, device=cell.device)[:, None] * size
    counts = torch.bincount((cell + first).flatten(), minlength=chains * size)
    assert counts.numel() == chains * size, "a tag is beyond num_tags or num_gold"
    return counts.view(*tags.shape[:-1], num_tags, num_gold)


def commonest_gold(types: Tensor, gold: Tensor, num_types: int, num_gold: int) -> Tensor:
    """The gold tag that most tokens of each type have, (types,) int64: the lowest of equals, -1 for a type without one.

    types, gold (tokens,); a token without a gold tag (negative) is left out.
    """
    known = gold >= 0
    cells, counts = torch.unique(types[known].to(torch.int64) * num_gold + gold[known], return_counts=True)
    order = torch.argsort(counts, descending=True, stable=True)  # cells rise, so the lower of equals stays first
    order = order[torch.argsort(cells[order] // num_gold, stable=True)]
    owner = cells[order] // num_gold
    leads = torch.ones_like(owner, dtype=torch.bool)
    leads[1:] = owner[1:] != owner[:-1]
    found = torch.full((num_types,), -1, dtype=torch.int64, device=types.device)
    found[owner[leads]] = cells[order][leads] % num_gold
    return found


def clustering_figures(confusion: Tensor) -> ClusteringFigures:
    """All figures of confusions (R, K, G), of tokens or of types."""
    counts = confusion.to(torch.float64)
    total = counts.sum((1, 2))
    share = counts / total[:, None, None]  # NaN over nothing, and so is all that follows
    by_tag, by_gold = share.sum(2), share.sum(1)
    of_tags, of_gold = _entropy(by_tag), _entropy(by_gold)
    joint = _entropy(share.flatten(1))
    gold_left = (joint - of_tags).clamp(min=0)  # H(gold | tag)
    tags_left = (joint - of_gold).clamp(min=0)
    homogeneity = _kept(gold_left, of_gold)
    completeness = _kept(tags_left, of_tags)
    both = homogeneity + completeness
    v_measure = torch.where(both > 0, 2 * homogeneity * completeness / both, both)
    variation = gold_left + tags_left
    return ClusteringFigures(
        many_to_one=share.amax(2).sum(1),
        one_to_one=_assigned(confusion) / total,
        one_to_one_greedy=_greedy(confusion) / total,
        homogeneity=homogeneity,
        completeness=completeness,
        v_measure=v_measure,
        variation_of_information=variation / _LOG2,
        nvi=torch.where(of_gold > 0, variation / of_gold, torch.where(of_gold == 0, of_tags / _LOG2, of_gold)),
        tags_used=(confusion.sum(2) > 0).sum(1),
    )


def type_accuracy(by_token: Tensor, by_type: Tensor) -> Tensor:
    """(R,) float64: share of types whose tag means their commonest gold tag, when each tag means its commonest gold tag
    among tokens (the lowest of equals). by_token, by_type (R, K, G): confusions of tokens, and of types with
    `commonest_gold`."""
    meaning = by_token.argmax(2, keepdim=True)
    return by_type.gather(2, meaning).sum((1, 2)) / by_type.sum((1, 2)).to(torch.float64)


def _entropy(share: Tensor) -> Tensor:
    """Of distributions (R, n), in nats; exactly 0 where one share is 1."""
    return -torch.special.xlogy(share, share).sum(1)


def _kept(left: Tensor, whole: Tensor) -> Tensor:
    """1 - left / whole; 1 where there was nothing to tell apart."""
    return torch.where(whole == 0, 1.0, 1 - left / whole)


def _assigned(confusion: Tensor) -> Tensor:
    """Items on the best one-to-one assignment, (R,) int64."""
    from scipy.optimize import linear_sum_assignment

    best = []
    for chain in confusion.cpu():
        rows, columns = linear_sum_assignment(chain.numpy(), maximize=True)
        best.append(int(chain[rows, columns].sum()))
    return torch.tensor(best, dtype=torch.int64, device=confusion.device)


def _greedy(confusion: Tensor) -> Tensor:
    """Items on the greedy assignment: the largest cell first (of equals the lowest tag, then the lowest gold tag)."""
    left = confusion.clone()
    chains, _, columns = left.shape
    taken = torch.zeros(chains, dtype=torch.int64, device=left.device)
    chain = torch.arange(chains, device=left.device)
    for _ in range(min(left.shape[1:])):
        cell = left.flatten(1).argmax(1)
        tag, gold = cell // columns, cell % columns
        taken += left[chain, tag, gold]
        left[chain, tag] = 0
        left[chain, :, gold] = 0
    return taken
