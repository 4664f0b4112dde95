"""Summaries as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuclf.report.strict_json import dump
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.summary import AspectSummary, BusinessSummary, Cluster

FORMAT = 1
POLARITIES = {1: "positive", 0: "neutral", -1: "negative"}


def summary_json(summaries: Sequence[BusinessSummary], pages: Mapping[str, str], made_from: Mapping[str, Any]) -> bytes:
    """summary.json: {"format", "made_from", "businesses": [{"business", "page", "reviews", "snippets", "aspects":
    [{"aspect", "positive", "neutral", "negative", "clusters": [{"polarity", "support", "head", "supporters",
    "dropped"}]}]}]}. Aspects and clusters are ranked; head is the first of supporters; dropped: those that contradict.
    A snippet is {"text", "review"?, "start"?, "end"?, "sentence"?}, with start and end of the words it is about."""
    businesses = [
        {
            "business": summary.business,
            "page": pages[summary.business],
            "reviews": summary.reviews,
            "snippets": summary.snippets,
            "aspects": [_aspect(aspect) for aspect in summary.aspects],
        }
        for summary in summaries
    ]
    return dump({"format": FORMAT, "made_from": made_from, "businesses": businesses}, indent=1) + b"\n"


def _aspect(aspect: AspectSummary) -> dict[str, Any]:
    return {
        "aspect": aspect.aspect,
        "positive": aspect.positive,
        "neutral": aspect.neutral,
        "negative": aspect.negative,
        "clusters": [_cluster(cluster) for cluster in aspect.clusters],
    }


def _cluster(cluster: Cluster) -> dict[str, Any]:
    return {
        "polarity": POLARITIES[cluster.polarity],
        "support": cluster.support,
        "head": cluster.head.text,
        "supporters": [_snippet(snippet) for snippet in cluster.supporters],
        "dropped": [_snippet(snippet) for snippet in cluster.dropped],
    }


def _snippet(snippet: Snippet) -> dict[str, Any]:
    found: dict[str, Any] = {"text": snippet.text}
    if snippet.review is not None:
        found["review"] = snippet.review
    if snippet.place is not None:
        found["start"], found["end"] = snippet.place
    if snippet.sentence and snippet.sentence != snippet.text:
        found["sentence"] = snippet.sentence
    return found
