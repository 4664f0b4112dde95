"""The page that leads to all businesses: a table to sort, with what is said most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources

from gpuclf.report.html.markup import Markup, name_text, table, tag
from gpuclf.report.html.shell import shell
from gpuclf.report.summarize.business_page import aspect_title, share_bar, style, totals
from gpuclf.train.summaries.summary import BusinessSummary, Cluster

_WIDTH = 90  # characters of a remark


def index_page(summaries: Sequence[BusinessSummary], pages: Mapping[str, str], source: str) -> str:
    """The source of index.html."""
    remarks = sum(summary.snippets for summary in summaries)
    header = tag(
        "header",
        tag("h1", "What people say"),
        tag("p", f"{remarks:,} remarks on {len(summaries):,} businesses, from {source}", class_="lead"),
    )
    known = any(summary.reviews is not None for summary in summaries)
    head = ["business", *(["reviews"] if known else []), "remarks", "praise", "tone", "said most"]
    rows = [_row(summary, pages[summary.business], known) for summary in summaries]
    numbers = range(1, 4 if known else 3)
    script = resources.files("gpuclf.report.html").joinpath("sort_tables.js").read_text(encoding="utf-8")
    body = tag("main", table(head, rows, numbers=numbers, class_="sortable"))
    return shell("What people say", style(), script, header, body)


def _row(summary: BusinessSummary, page: str, known: bool) -> Iterable[str | Markup]:
    positive, neutral, negative = totals(summary)
    link = tag("a", name_text(summary.business, 80), href=page)
    reviews = [f"{summary.reviews or 0:,}"] if known else []
    praise = f"{100 * positive / max(1, summary.snippets):.0f} %"
    return link, *reviews, f"{summary.snippets:,}", praise, share_bar(positive, neutral, negative), _said_most(summary)


def _said_most(summary: BusinessSummary) -> Markup:
    """The head of the cluster with most support, and of the criticism with most where several make it."""
    ranked = sorted(
        ((aspect.aspect, cluster) for aspect in summary.aspects for cluster in aspect.clusters),
        key=lambda found: -found[1].support,
    )
    blamed = [found for found in ranked if found[1].polarity < 0 and found[1].support > 1]
    return tag("ul", *(_remark(*found) for found in dict.fromkeys([*ranked[:1], *blamed[:1]])), class_="most")


def _remark(aspect: str, cluster: Cluster) -> Markup:
    kind, mark = {1: ("praise", "▲"), 0: ("neutral", "●"), -1: ("blame", "▼")}[cluster.polarity]
    text = name_text(cluster.head.text, _WIDTH)
    return tag(
        "li", tag("b", mark, class_=kind), f" {text} ", tag("small", f"{aspect_title(aspect)} · {cluster.support}")
    )
