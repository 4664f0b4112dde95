"""The summary of each business: clusters of its snippets by aspect, ranked by support, each of one polarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby

import torch

from gpuclf.train.summaries.clusters import ClusterOptions, centrality, cluster_groups
from gpuclf.train.summaries.similarity import Taught, learnt_rows
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.vectors import snippet_rows


@dataclass(frozen=True)
class Cluster:
    """Snippets that say alike things. polarity 1, 0 or -1: of most of them; supporters: those that do not contradict,
    the most central first, so that supporters[0] is the head; dropped: those that do. support: the reviews behind
    the supporters (a snippet of no known review counts as one)."""

    polarity: int
    support: int
    supporters: tuple[Snippet, ...]
    dropped: tuple[Snippet, ...]

    @property
    def head(self) -> Snippet:
        return self.supporters[0]


@dataclass(frozen=True)
class AspectSummary:
    """What is said about one aspect: clusters by falling support, and how many snippets praise, are neutral, blame."""

    aspect: str
    positive: int
    neutral: int
    negative: int
    clusters: tuple[Cluster, ...]

    @property
    def snippets(self) -> int:
        return self.positive + self.neutral + self.negative


@dataclass(frozen=True)
class BusinessSummary:
    """All aspects of a business, the one with most snippets first. reviews: that say anything of them, None where no
    snippet names its review."""

    business: str
    reviews: int | None
    aspects: tuple[AspectSummary, ...]

    @property
    def snippets(self) -> int:
        return sum(aspect.snippets for aspect in self.aspects)


def summarise(
    snippets: Sequence[Snippet],
    strengths: Sequence[float],
    options: ClusterOptions,
    device: torch.device,
    taught: Taught | None = None,
) -> list[BusinessSummary]:
    """Summaries in the order in which businesses first occur. strengths: of each snippet's polarity, by sign (0:
    neutral), and where votes are even by size. taught: clusters from which the similarity is learnt."""
    if not snippets:
        return []
    businesses = {name: place for place, name in enumerate(dict.fromkeys(snippet.business for snippet in snippets))}
    order = sorted(range(len(snippets)), key=lambda n: (businesses[snippets[n].business], snippets[n].aspect, n))
    ordered = [snippets[n] for n in order]
    sizes = [len(list(group)) for _, group in groupby(ordered, key=_group)]
    size = torch.tensor(sizes, device=device)
    first = size.cumsum(0) - size
    texts = [snippet.text for snippet in ordered]
    share = options.word_share
    rows = (snippet_rows(texts, share) if taught is None else learnt_rows(texts, taught, share)).to(device)
    keys = torch.tensor([_key(snippet) for snippet in (ordered[start] for start in first.tolist())], device=device)
    labels = cluster_groups(rows, first, size, keys, options)
    cluster = torch.repeat_interleave(first, size) + labels  # a number over all groups
    votes = _Votes(cluster.tolist(), [strengths[n] for n in order])
    kept = torch.tensor(votes.kept, device=device)
    central = centrality(rows, torch.where(kept, cluster, -1)).tolist()
    found: dict[str, list[AspectSummary]] = {name: [] for name in businesses}
    reviews: dict[str, set[str]] = {name: set() for name in businesses}
    for start, count in zip(first.tolist(), sizes, strict=True):
        name, places = ordered[start].business, range(start, start + count)
        found[name].append(_aspect(ordered, places, votes, central))
        reviews[name] |= {review for place in places if (review := ordered[place].review) is not None}
    return [
        BusinessSummary(name, len(reviews[name]) or None, tuple(sorted(aspects, key=_by_size)))
        for name, aspects in found.items()
    ]


class _Votes:
    """The polarity of each cluster by its snippets, and which of these do not contradict it."""

    def __init__(self, clusters: Sequence[int], strengths: Sequence[float]):
        self.clusters = clusters
        self.signs = [_sign(value) for value in strengths]
        balance: Counter[int] = Counter()
        total: dict[int, float] = {}
        for cluster, sign, value in zip(clusters, self.signs, strengths, strict=True):
            balance[cluster] += sign
            total[cluster] = total.get(cluster, 0.0) + value
        self.polarity = {c: _sign(balance[c]) or _sign(total[c]) for c in total}
        self.kept = [self.polarity[c] * sign >= 0 for c, sign in zip(clusters, self.signs, strict=True)]


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _aspect(ordered: Sequence[Snippet], places: range, votes: _Votes, central: Sequence[float]) -> AspectSummary:
    members: dict[int, list[int]] = {}
    for place in places:
        members.setdefault(votes.clusters[place], []).append(place)
    clusters = []
    for cluster, own in members.items():
        kept = [place for place in own if votes.kept[place]]
        if votes.polarity[cluster]:  # a head shows the polarity of its cluster
            kept.sort(key=lambda place: (votes.signs[place] == 0, -central[place]))
        else:
            kept.sort(key=lambda place: -central[place])
        supporters = tuple(ordered[place] for place in kept)
        dropped = tuple(ordered[place] for place in own if not votes.kept[place])
        clusters.append(Cluster(votes.polarity[cluster], _support(supporters), supporters, dropped))
    clusters.sort(key=lambda found: (-found.support, -len(found.supporters)))
    signs = Counter(votes.signs[place] for place in places)
    return AspectSummary(ordered[places[0]].aspect, signs[1], signs[0], signs[-1], tuple(clusters))


def _support(snippets: Sequence[Snippet]) -> int:
    named = {snippet.review for snippet in snippets if snippet.review is not None}
    return len(named) + sum(snippet.review is None for snippet in snippets)


def _by_size(aspect: AspectSummary) -> tuple[int, str]:
    return -aspect.snippets, aspect.aspect


def _group(snippet: Snippet) -> tuple[str, str]:
    return snippet.business, snippet.aspect


def _key(snippet: Snippet) -> int:
    digest = blake2b("\0".join(_group(snippet)).encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
