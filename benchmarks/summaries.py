"""Summaries of businesses: clusters beside silver clusters and scikit-learn's k-means, polarity beside silver signs.

    python -m benchmarks.summaries [DATA] [--businesses N] [--threads N]

DATA holds reviews/{condensr_snippets,product_reviews_1,product_reviews_2}.jsonl.gz and semeval16_restaurants_{train,
test}.jsonl.gz there; $GPUCLF_DATA or ../shared/data where not given. The snippets are what the demo of Sauper et al.
2010 gave out: 2,927 restaurants, whose clusters and labels are silver, not gold. Settings were chosen on the first 700,
the learnt similarity is learnt from the first 2,000; measured are the last ten, and the last N (default 100). Two
readings of silver: the clusters within an aspect (groups with two of them at least; figures of groups are averaged by
their snippets), and the aspects as labels of all snippets of a restaurant. The peer clusters each group by itself, on
tf-idf of words over the same snippets (KMeans, n_init=10; for automatic k the best silhouette); ours takes all groups
at once. Processor seconds of both include making vectors.

Polarity: the sign of the head of each silver cluster (1, 0 or -1; 0 is mostly "none was found"), and of the spans of
SemEval-2016, whose snippets are cut from their sentences as `gpuclf summarize` does. The lexicon has its words from
nobody's list; its phrases were looked over on silver heads and on the training part of SemEval-2016. Beside it stands
a linear classifier of the reviews of products: their sentences by the sum of their marks, without a neutral class.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.green import ROOT, require_green
from benchmarks.measure import markdown_table, surroundings, timed
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.paths import resolve_path
from gpuclf.metrics.clustering import clustering_confusion, clustering_figures
from gpuclf.train.summaries.clusters import ClusterOptions, cluster_groups
from gpuclf.train.summaries.lexicon import polarity_of
from gpuclf.train.summaries.polarity import strengths
from gpuclf.train.summaries.similarity import Taught, learnt_rows
from gpuclf.train.summaries.snippet_file import read_clusters
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.summary import summarise
from gpuclf.train.summaries.vectors import snippet_rows
from gpuclf.train.summaries.windows import snippet_span

TESTS = ["tests/ops/test_gram_clusters.py", "tests/train/summaries/test_summary.py"]
SIGNS = {"positive": 1, "neutral": 0, "negative": -1}
LEARNT_FROM = 2000  # businesses whose silver clusters teach the similarity
MOST = 12  # clusters that automatic k tries, for both


@dataclass(frozen=True)
class Silver:
    """Snippets in groups: texts; first, sizes of groups; gold (snippets,) the silver cluster or label of each."""

    texts: list[str]
    first: list[int]
    sizes: list[int]
    gold: Tensor

    @property
    def groups(self) -> list[slice]:
        return [slice(first, first + size) for first, size in zip(self.first, self.sizes, strict=True)]

    @property
    def wanted(self) -> list[int]:
        """The number of silver clusters of each group."""
        return [len(self.gold[group].unique()) for group in self.groups]


def silver_groups(silver: Taught, *, by_aspect: bool) -> Silver:
    """Groups of two snippets at least, with two silver clusters (or aspects) at least."""
    snippets, clusters = silver.snippets, silver.clusters
    members: dict[tuple[str, str], list[int]] = {}
    for place, snippet in enumerate(snippets):
        members.setdefault((snippet.business, snippet.aspect if by_aspect else ""), []).append(place)
    labels = list(clusters) if by_aspect else _numbers([snippet.aspect for snippet in snippets])
    chosen = [own for own in members.values() if len({labels[place] for place in own}) > 1]
    order = [place for own in chosen for place in own]
    sizes = [len(own) for own in chosen]
    return Silver(
        texts=[snippets[place].text for place in order],
        first=np.cumsum([0, *sizes])[:-1].tolist(),
        sizes=sizes,
        gold=torch.tensor([labels[place] for place in order]),
    )


def _numbers(names: Sequence[str]) -> list[int]:
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return [number[name] for name in names]


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The records of a compressed file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_silver(file: Path, businesses: slice) -> Taught:
    """Snippets of some businesses with their silver clusters, as `gpuclf summarize --learn-from` reads them."""
    every = read_clusters(file)
    names = set(list(dict.fromkeys(snippet.business for snippet in every.snippets))[businesses])
    kept = [place for place, snippet in enumerate(every.snippets) if snippet.business in names]
    return Taught([every.snippets[place] for place in kept], [every.clusters[place] for place in kept])


def read_heads(file: Path) -> list[tuple[str, int]]:
    """The heads of all silver clusters with their signs."""
    given = [one for record in json_lines(file) for cluster in record["clusters"] for one in cluster]
    return [(html.unescape(one["phrase"]), one["polarity"]) for one in given if "polarity" in one]


def ours(silver: Silver, options: ClusterOptions, taught: Taught | None = None, *, same_k: bool) -> list[list[int]]:
    """Labels of each group; with same_k those of the silver number, a batch for each number."""
    share = options.word_share
    rows = snippet_rows(silver.texts, share) if taught is None else learnt_rows(silver.texts, taught, share)
    first, sizes = torch.tensor(silver.first), torch.tensor(silver.sizes)
    keys = torch.arange(sizes.numel())
    if not same_k:
        labels = cluster_groups(rows, first, sizes, keys, options)
        return [labels[group].tolist() for group in silver.groups]
    found: list[list[int]] = [[] for _ in silver.sizes]
    wanted = torch.tensor(silver.wanted)
    for k in wanted.unique().tolist():
        own = torch.nonzero(wanted == k).flatten()
        fixed = replace(options, clusters=k)
        labels = cluster_groups(rows, first[own], sizes[own], keys[own], fixed)
        for group in own.tolist():
            found[group] = labels[silver.groups[group]].tolist()
    return found


def peer(silver: Silver, *, same_k: bool) -> list[list[int]]:
    """KMeans on tf-idf, group by group."""
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics import silhouette_score

    rows = TfidfVectorizer().fit_transform(silver.texts)
    found: list[list[int]] = []
    for group, k in zip(silver.groups, silver.wanted, strict=True):
        own = rows[group]
        if same_k:
            found.append(KMeans(k, n_init=10, random_state=0).fit_predict(own).tolist())
            continue
        best, labels = -1.0, [0] * own.shape[0]
        for tried in range(2, min(MOST, own.shape[0] - 1) + 1):
            given = KMeans(tried, n_init=10, random_state=0).fit_predict(own)
            score = silhouette_score(own, given) if 1 < len(set(given.tolist())) < own.shape[0] else -1.0
            if score > best:
                best, labels = score, given.tolist()
        found.append(labels)
    return found


def figures(silver: Silver, found: Sequence[Sequence[int]]) -> list[str]:
    """Purity, its inverse, V and the mean number of clusters, averaged over groups by their snippets."""
    rows, weights, counts = [], [], []
    for group, labels in zip(silver.groups, found, strict=True):
        gold = torch.tensor(_numbers(list(map(str, silver.gold[group].tolist()))))
        own = torch.tensor(_numbers(list(map(str, labels))))
        confusion = clustering_confusion(own, gold, int(own.max()) + 1, int(gold.max()) + 1)[None]
        measured = clustering_figures(confusion)
        inverse = float(confusion.amax(1).sum() / confusion.sum())
        rows.append([float(measured.many_to_one), inverse, float(measured.v_measure)])
        weights.append(len(labels))
        counts.append(int(own.max()) + 1)
    means = np.average(np.array(rows), axis=0, weights=weights)
    return [*(f"{value:.3f}" for value in means), f"{np.mean(counts):.2f}"]


def compare(title: str, silver: Silver, taught: Taught | None, *, automatic_peer: bool) -> None:
    """The table of one reading. taught: clusters to learn the similarity from, where they are of the same kind."""
    size = f"{len(silver.texts):,} snippets in {len(silver.sizes):,} groups"
    print(f"\n{title}: {size}, {np.mean(silver.wanted):.2f} silver clusters a group\n", flush=True)
    kmeans, linkage = ClusterOptions(method="kmeans"), ClusterOptions(method="linkage")
    work: list[tuple[str, Callable[[], list[list[int]]]]] = [
        ("scikit-learn, silver k", lambda: peer(silver, same_k=True)),
        ("k-means, silver k", lambda: ours(silver, kmeans, same_k=True)),
        ("average linkage, silver k", lambda: ours(silver, linkage, same_k=True)),
        ("k-means, automatic k", lambda: ours(silver, kmeans, same_k=False)),
        ("average linkage, threshold", lambda: ours(silver, linkage, same_k=False)),
    ]
    if taught is not None:
        work += [
            ("k-means, learnt similarity, silver k", lambda: ours(silver, kmeans, taught, same_k=True)),
            ("k-means, learnt similarity, automatic k", lambda: ours(silver, kmeans, taught, same_k=False)),
            ("average linkage, learnt similarity, threshold", lambda: ours(silver, linkage, taught, same_k=False)),
        ]
    if automatic_peer:
        work.insert(3, ("scikit-learn, automatic k", lambda: peer(silver, same_k=False)))
    table = []
    for name, run in work:
        found, (_, cpu) = timed(run)
        table.append([name, *figures(silver, found), f"{cpu:.2f}"])
    print(markdown_table(["clusters", "purity", "inverse purity", "V", "k", "CPU s"], table))


def spans(file: Path) -> Iterator[tuple[str, str, int]]:
    """Snippet, sentence and sign of each span of SemEval-2016."""
    for record in json_lines(file):
        for sentence in record["sentences"]:
            text = sentence["text"]
            for opinion in sentence["opinions"]:
                if opinion["target"] != "NULL":
                    begin, stop = snippet_span(text, opinion["start"], opinion["end"])
                    yield text[begin:stop], text, SIGNS[opinion["polarity"]]


def product_judge(files: Sequence[Path]) -> Callable[[Sequence[str]], list[int]]:
    """Logistic regression on the sentences of product reviews that have marks: praise or blame, by their sum."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from gpuclf.estimators import LogisticRegression

    texts: list[str] = []
    signs: list[int] = []
    for file in files:
        for record in json_lines(file):
            for sentence in record["sentences"]:
                total = sum(mark["strength"] for mark in sentence["features"])
                if total:
                    texts.append(sentence["text"])
                    signs.append(1 if total > 0 else -1)
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    model = LogisticRegression(C=10.0, device="cpu").fit(vectors.fit_transform(texts), signs)
    return lambda given: model.predict(vectors.transform(list(given))).tolist()


def bundled() -> Silver:
    """The bundled reviews of products: snippets around their gold spans, with aspects as labels."""
    names: list[str] = []
    snippets: list[Snippet] = []
    for name in ("train", "test"):
        options = DataOptions(train=resolve_path(f"bundled:products/{name}.jsonl.gz"), format="reviews")
        for chunk in open_reader(options.train, options).chunks():
            reviews = chunk.reviews
            assert reviews is not None
            assert reviews.spans is not None
            business = np.repeat(np.array(reviews.businesses, dtype=object), np.diff(reviews.starts))
            for text, marked, about in zip(reviews.texts, reviews.spans, business, strict=True):
                for start, end, aspect in marked:
                    begin, stop = snippet_span(text, start, end)
                    snippets.append(Snippet(about, aspect, text[begin:stop]))
                    names.append(aspect)
    return silver_groups(Taught(snippets, _numbers(names)), by_aspect=False)


def agreement(pairs: Sequence[tuple[int, int]]) -> list[str]:
    """Accuracy over three signs, over praise and blame alone, and recall of each sign; (silver, given) pairs."""

    def right(signs: Sequence[int]) -> str:
        own = [gold == given for gold, given in pairs if gold in signs]
        return f"{np.mean(own):.3f}" if own else ""

    return [f"{len(pairs):,}", right((1, 0, -1)), right((1, -1)), right((1,)), right((0,)), right((-1,))]


def summarised(snippets: Sequence[Snippet], title: str) -> None:
    """One line about summaries, and what they take."""
    found, (wall, cpu) = timed(
        lambda: summarise(snippets, strengths(snippets, None), ClusterOptions(), torch.device("cpu"))
    )
    clusters = [cluster for one in found for aspect in one.aspects for cluster in aspect.clusters]
    dropped = sum(len(cluster.dropped) for cluster in clusters)
    several = sum(len(cluster.supporters) > 1 for cluster in clusters)
    print(
        f"{title}: {len(found)} businesses, {len(snippets):,} snippets, {len(clusters):,} clusters "
        f"({several:,} of several snippets), {dropped:,} snippets dropped as the minority; "
        f"{cpu:.2f} CPU s, {wall:.2f} s"
    )


def judge(data: Path, heads: Sequence[tuple[str, int]]) -> None:
    """The table of polarity."""
    by_products = product_judge([data / f"product_reviews_{number}.jsonl.gz" for number in (1, 2)])
    sets: list[tuple[str, Sequence[str], Sequence[str], Sequence[int]]] = [
        ("Condensr heads", [text for text, _ in heads], ["" for _ in heads], [sign for _, sign in heads])
    ]
    for part in ("train", "test"):
        found = list(spans(data / f"semeval16_restaurants_{part}.jsonl.gz"))
        sets.append((f"SemEval-2016 {part}", [x[0] for x in found], [x[1] for x in found], [x[2] for x in found]))
    table = []
    for name, cut, whole, gold in sets:
        by_lexicon = [polarity_of(*pair) for pair in zip(cut, whole, strict=True)]
        table.append([f"{name}: lexicon", *agreement(list(zip(gold, by_lexicon, strict=True)))])
        table.append([f"{name}: classifier", *agreement(list(zip(gold, by_products(cut), strict=True)))])
    print()
    head = ["polarity", "snippets", "accuracy", "without neutral", "praise", "neutral", "blame"]
    print(markdown_table(head, table))


def main() -> None:
    """Prints all tables."""
    arguments = _arguments()
    torch.set_num_threads(arguments.threads)
    if not arguments.untested:
        require_green(TESTS)
    print(surroundings(torch.device("cpu")))
    data = arguments.data / "reviews"
    file = data / "condensr_snippets.jsonl.gz"
    count = arguments.businesses
    ten, more = read_silver(file, slice(-10, None)), read_silver(file, slice(-count, None))
    taught = read_silver(file, slice(LEARNT_FROM))
    summarised(ten.snippets, "ten restaurants")  # compiles the kernels
    summarised(ten.snippets, "ten restaurants, again")
    summarised(more.snippets, f"{count} restaurants")
    within, labels = "clusters within aspects", "aspects as labels"
    compare(f"ten restaurants, {within}", silver_groups(ten, by_aspect=True), None, automatic_peer=True)
    compare(f"ten restaurants, {labels}", silver_groups(ten, by_aspect=False), None, automatic_peer=True)
    compare(f"{count} restaurants, {within}", silver_groups(more, by_aspect=True), taught, automatic_peer=False)
    compare(f"{count} restaurants, {labels}", silver_groups(more, by_aspect=False), None, automatic_peer=False)
    compare(f"bundled reviews of products, {labels}", bundled(), None, automatic_peer=True)
    judge(data, read_heads(file))


def _arguments() -> argparse.Namespace:
    default = Path(os.environ.get("GPUCLF_DATA") or ROOT.parent / "shared" / "data")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=default)
    parser.add_argument("--businesses", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--untested", action="store_true", help="do not run the tests first")
    return parser.parse_args()


if __name__ == "__main__":
    main()
