"""Summaries of snippets: groups, clusters, votes, heads and support; the same whatever is summarised beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuclf.train.summaries.clusters import ClusterOptions, centrality, cluster_groups
from gpuclf.train.summaries.similarity import PRIOR_PAIRS, Taught, pair_weights
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.summary import BusinessSummary, summarise
from gpuclf.train.summaries.vectors import SnippetRows, snippet_rows

CPU = torch.device("cpu")
TWO = ClusterOptions(clusters=2)
PIZZA = ["the pizza was great", "great pizza", "the pizza is so good"]
WAITER = ["our waiter was rude", "the waiter was slow", "rude waiter"]


def snippets(texts: Sequence[str], business: str = "Al's", aspect: str = "food") -> list[Snippet]:
    return [Snippet(business, aspect, text) for text in texts]


def summary(given: Sequence[Snippet], strengths: Sequence[float] | None = None, options: ClusterOptions = TWO):  # type: ignore[no-untyped-def]
    return summarise(given, [1.0] * len(given) if strengths is None else strengths, options, CPU)


def texts_of(found: BusinessSummary) -> list[list[str]]:
    return [[s.text for s in cluster.supporters] for aspect in found.aspects for cluster in aspect.clusters]


@pytest.mark.parametrize("method", ["kmeans", "linkage"])
def test_alike_snippets_stand_together(method: str) -> None:
    options = ClusterOptions(method=method, clusters=2)  # type: ignore[arg-type]
    [found] = summary(snippets([*PIZZA, *WAITER, "pizza!"]), options=options)
    clusters = [set(cluster) for cluster in texts_of(found)]
    assert clusters == [{*PIZZA, "pizza!"}, set(WAITER)]  # by support


@pytest.mark.parametrize("method", ["kmeans", "linkage"])
def test_the_number_of_clusters_is_found(method: str) -> None:
    options = ClusterOptions(method=method, threshold=0.2)  # type: ignore[arg-type]
    [found] = summary(snippets([*PIZZA, *WAITER]), options=options)
    assert {frozenset(cluster) for cluster in texts_of(found)} == {frozenset(PIZZA), frozenset(WAITER)}
    [alike] = summary(snippets(["good pizza", "good pizza", "good pizza"]), options=options)
    assert len(texts_of(alike)) == 1


def test_the_minority_is_dropped_and_the_head_is_of_the_majority() -> None:
    given = snippets(["the soup was soup", "soup soup soup", "good soup", "bad soup", "great soup today"])
    [found] = summary(given, [0.0, 0.0, 1.0, -1.0, 2.0], ClusterOptions(clusters=1))
    [aspect] = found.aspects
    [cluster] = aspect.clusters
    assert (aspect.positive, aspect.neutral, aspect.negative) == (2, 2, 1)
    assert cluster.polarity == 1
    assert [s.text for s in cluster.dropped] == ["bad soup"]
    assert cluster.head.text in ("good soup", "great soup today")
    assert cluster.support == 4


@pytest.mark.parametrize(
    ("strengths", "polarity", "dropped"), [([1, -2], -1, 1), ([1, -1], 0, 0), ([0, 0], 0, 0), ([-1, 0], -1, 0)]
)
def test_votes_and_ties(strengths: list[float], polarity: int, dropped: int) -> None:
    [found] = summary(snippets(["soup", "soup"]), strengths, ClusterOptions(clusters=1))
    [cluster] = found.aspects[0].clusters
    assert (cluster.polarity, len(cluster.dropped)) == (polarity, dropped)


def test_support_counts_reviews() -> None:
    given = [replace(s, review=review) for s, review in zip(snippets([*PIZZA, *WAITER]), "aaabcd", strict=True)]
    [found] = summary(given)
    assert [cluster.support for cluster in found.aspects[0].clusters] == [3, 1]
    assert texts_of(found)[0][0] in WAITER
    assert found.reviews == 4
    assert summary(snippets(PIZZA))[0].reviews is None


def test_the_head_is_most_like_the_others() -> None:
    texts = ["pizza with anchovies", "pizza", "pizza crust", "the crust"]
    [found] = summary(snippets(texts), None, ClusterOptions(clusters=1))
    rows = snippet_rows(texts, ClusterOptions().word_share)
    dense = torch.zeros(4, rows.width, dtype=torch.float64)
    dense[rows.entry_rows(), rows.col] = rows.val
    best = int((dense @ dense.T).sum(1).argmax())
    assert found.aspects[0].clusters[0].head.text == texts[best]


def test_businesses_and_aspects_are_apart() -> None:
    given = [*snippets(PIZZA, "B", "food"), *snippets(PIZZA[:1], "A", "service"), *snippets(WAITER, "A", "food")]
    found = summary(given)
    assert [(s.business, [a.aspect for a in s.aspects]) for s in found] == [("B", ["food"]), ("A", ["food", "service"])]
    assert [s.snippets for s in found] == [3, 4]
    assert summary([]) == []


def test_texts_without_a_word() -> None:
    [found] = summary(snippets(["", "?!", "…", "pizza"]))
    assert sum(len(cluster) for cluster in texts_of(found)) == 4


WORDS = st.lists(st.sampled_from(["pizza", "waiter", "rude", "good", "the", "crust", "wine"]), max_size=5)


@settings(max_examples=25)
@given(st.lists(WORDS, min_size=1, max_size=12), st.sampled_from(["kmeans", "linkage"]))
def test_every_snippet_is_in_one_cluster_and_order_holds(texts: list[list[str]], method: str) -> None:
    given = snippets([" ".join(words) for words in texts])
    strengths = [float(len(words) % 3 - 1) for words in texts]
    [found] = summary(given, strengths, ClusterOptions(method=method))  # type: ignore[arg-type]
    clusters = found.aspects[0].clusters
    shown = sorted(s.text for cluster in clusters for s in (*cluster.supporters, *cluster.dropped))
    assert shown == sorted(s.text for s in given)
    assert [cluster.support for cluster in clusters] == sorted((c.support for c in clusters), reverse=True)


def some_rows(count: int) -> SnippetRows:
    words = ["pizza crust cheese", "waiter service rude", "wine list glass", "music decor loud"]
    return snippet_rows([f"{words[n % 4]} {words[n % 4].split()[n % 3]} x{n % 7}" for n in range(count)], 0.6)


@pytest.mark.parametrize("method", ["kmeans", "linkage"])
def test_batches_change_nothing(method: str) -> None:
    """Groups of any size beside each other: the clusters of each are those that it has by itself."""
    sizes = torch.tensor([7, 1, 20, 3, 20])
    rows, first = some_rows(51), sizes.cumsum(0) - sizes
    keys, options = torch.arange(5) * 99, ClusterOptions(method=method)  # type: ignore[arg-type]
    together = cluster_groups(rows, first, sizes, keys, options)
    for group, (start, size) in enumerate(zip(first.tolist(), sizes.tolist(), strict=True)):
        own = rows.select(torch.arange(start, start + size))
        alone = cluster_groups(own, torch.tensor([0]), sizes[group : group + 1], keys[group : group + 1], options)
        assert torch.equal(alone, together[start : start + size])


@pytest.mark.parametrize("method", ["kmeans", "linkage"])
def test_a_group_beyond_the_largest_is_clustered_by_a_sample(method: str) -> None:
    rows, size = some_rows(60), torch.tensor([60])
    options = ClusterOptions(method=method, clusters=4, largest=30)  # type: ignore[arg-type]
    labels = cluster_groups(rows, torch.tensor([0]), size, torch.tensor([1]), options)
    assert labels.tolist() == [number % 4 for number in range(60)]  # as the words say


def test_centrality_is_the_product_with_the_cluster_sum() -> None:
    rows = some_rows(12)
    cluster = torch.arange(12) % 4
    cluster[5] = -1
    dense = torch.zeros(12, rows.width, dtype=torch.float64)
    dense[rows.entry_rows(), rows.col] = rows.val
    same = (cluster[:, None] == cluster) & (cluster >= 0)
    expected = ((dense @ dense.T) * same).sum(1)
    torch.testing.assert_close(centrality(rows, cluster), expected, rtol=0, atol=1e-5)


def test_weights_of_features_are_counts_of_pairs() -> None:
    """A feature shared within clusters only counts more than 1, one shared between them less, an unseen one 1."""
    texts = ["a x", "a y", "b x", "b y", "z z"]
    rows = snippet_rows(texts, 1.0)
    group, cluster = torch.tensor([0, 0, 0, 0, -1]), torch.tensor([0, 0, 1, 1, 0])
    weights = pair_weights(rows, group, cluster)
    dense = torch.zeros(5, rows.width, dtype=torch.float64)
    dense[rows.entry_rows(), rows.col] = rows.val
    m, one, every = PRIOR_PAIRS, 2, 6
    for column in range(1, rows.width):
        holders = [n for n in range(4) if dense[n, column] > 0]
        pairs = [(i, j) for i in holders for j in holders if i < j]
        same = sum(int(cluster[i] == cluster[j]) for i, j in pairs)
        odds = (same + m * one / every) / (len(pairs) - same + m * (every - one) / every)
        assert float(weights[column]) == pytest.approx(odds * (every - one) / one)
    assert float(weights.max()) > 1.5
    assert torch.equal(pair_weights(rows, group, torch.zeros(5, dtype=torch.int64)), torch.ones(rows.width).double())


def test_what_is_learnt_decides() -> None:
    """Two businesses say that what is ordered makes snippets alike, not how it was."""
    things, how = ["pizza", "soup"], ["great", "awful"]
    own = snippets([f"{thing} {word}" for thing in things for word in how])

    def taught(by_thing: bool) -> Taught:
        pairs = [(thing, word) for thing in range(2) for word in range(2)]
        given = [Snippet(f"B{n}", "food", f"{things[t]} {how[w]}") for n in range(9) for t, w in pairs]
        return Taught(given, [pair[0 if by_thing else 1] for _ in range(9) for pair in pairs])

    for by_thing, expected in ((True, {"pizza", "soup"}), (False, {"great", "awful"})):
        [found] = summarise(own, [0.0] * 4, TWO, CPU, taught(by_thing))
        clusters = [[text.split() for text in cluster] for cluster in texts_of(found)]
        assert {word for cluster in clusters for word in set.intersection(*map(set, cluster))} == expected
