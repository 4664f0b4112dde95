"""The page of one business: by aspect, what many say with who says it, then what was said once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from gpuclf.report.html.markup import Markup, escaped, folded, joined, name_text, tag
from gpuclf.report.html.shell import shell
from gpuclf.train.summaries.snippets import Snippet
from gpuclf.train.summaries.summary import AspectSummary, BusinessSummary, Cluster

_MARKS = {1: ("praise", "▲", "praise"), 0: ("neutral", "●", "neutral"), -1: ("blame", "▼", "criticism")}
_ALONE_SHOWN = 3  # snippets of an aspect that are shown though nobody else says so, where there is no cluster of more


def business_page(summary: BusinessSummary) -> str:
    """The source of the page."""
    name = name_text(summary.business, None)
    lead = _count(summary.snippets, "remark")
    if summary.reviews is not None:
        lead = f"{lead} from {_count(summary.reviews, 'review')}"
    positive, neutral, negative = totals(summary)
    header = tag(
        "header",
        tag("p", tag("a", "← all businesses", href="index.html"), class_="back"),
        tag("h1", name),
        tag("p", lead, class_="lead"),
        share_bar(positive, neutral, negative),
        tag("p", _shares(positive, neutral, negative), class_="key"),
        tag("nav", *(_link(place, aspect) for place, aspect in enumerate(summary.aspects))),
    )
    sections = [_section(place, aspect) for place, aspect in enumerate(summary.aspects)]
    return shell(name, style(), None, header, tag("main", *sections), tag("footer", _FOOTER))


_FOOTER = (
    "Remarks that say alike things stand together, those that most reviews make first. The remark that is most like "
    "the others of its group speaks for it. Remarks that contradict their group are not counted in it."
)


def style() -> str:
    """The style sheet of these pages."""
    return resources.files("gpuclf.report.summarize").joinpath("summary.css").read_text(encoding="utf-8")


def totals(summary: BusinessSummary) -> tuple[int, int, int]:
    """How many snippets praise, are neutral, blame."""
    aspects = summary.aspects
    return sum(a.positive for a in aspects), sum(a.neutral for a in aspects), sum(a.negative for a in aspects)


def share_bar(positive: int, neutral: int, negative: int) -> Markup:
    """A bar of praise, neutral and criticism, each as wide as its share."""
    total = max(1, positive + neutral + negative)
    parts = [
        tag("i", class_=kind, style=f"width:{100 * count / total:.1f}%", title=f"{count} {title}")
        for count, (kind, _, title) in zip((positive, neutral, negative), _MARKS.values(), strict=True)
        if count
    ]
    text = f"{positive} praise, {neutral} neutral, {negative} criticism"
    return tag("div", *parts, class_="share", role="img", aria_label=text)


def aspect_title(aspect: str) -> str:
    """An aspect's name as a heading."""
    shown = name_text(aspect)
    return shown[:1].upper() + shown[1:]


def _shares(positive: int, neutral: int, negative: int) -> Markup:
    counts = zip((positive, neutral, negative), _MARKS.values(), strict=True)
    return joined(
        *(tag("span", tag("b", f"{mark} {count}", class_=kind), f" {title}") for count, (kind, mark, title) in counts)
    )


def _link(place: int, aspect: AspectSummary) -> Markup:
    return tag("a", aspect_title(aspect.aspect), tag("small", f"{aspect.snippets}"), href=f"#aspect-{place}")


def _section(place: int, aspect: AspectSummary) -> Markup:
    shared = [cluster for cluster in aspect.clusters if cluster.support > 1]
    alone = [cluster for cluster in aspect.clusters if cluster.support <= 1]
    shown = alone[:_ALONE_SHOWN] if not shared else []
    rest = alone[len(shown) :]
    cards = tag("div", *(_card(cluster) for cluster in (*shared, *shown)), class_="cards")
    once = None
    if rest:
        lines = [line for cluster in rest for line in _lines(cluster.supporters, cluster.polarity)]
        once = folded(f"{_count(len(rest), 'thing')} said once", tag("ul", *lines, class_="lines"))
    return tag(
        "section",
        tag("h2", aspect_title(aspect.aspect)),
        share_bar(aspect.positive, aspect.neutral, aspect.negative),
        tag("p", _shares(aspect.positive, aspect.neutral, aspect.negative), class_="key"),
        cards,
        once,
        id=f"aspect-{place}",
    )


def _card(cluster: Cluster) -> Markup:
    kind, mark, title = _MARKS[cluster.polarity]
    known = cluster.head.review is not None
    support = _count(cluster.support, "review" if known else "remark")
    others = cluster.supporters[1:]
    parts = [
        tag("p", tag("b", f"{mark} {title}", class_=kind), tag("span", support), class_="by"),
        tag("blockquote", _marked(cluster.head)),
    ]
    if _says_more(cluster.head):
        parts.append(tag("p", _in_sentence(cluster.head), class_="whole"))
    if others:
        parts.append(folded(f"{_count(len(others), 'more remark')}", tag("ul", *_lines(others, None), class_="lines")))
    if cluster.dropped:
        against = tag("ul", *_lines(cluster.dropped, None), class_="lines")
        parts.append(folded(f"{len(cluster.dropped)} not counted: of the opposite opinion", against))
    return tag("article", *parts, class_=kind)


def _lines(snippets: tuple[Snippet, ...], polarity: int | None) -> Iterator[Markup]:
    """Each snippet with its sentence, and the review it is from."""
    for snippet in snippets:
        mark = None
        if polarity is not None:
            kind, sign, title = _MARKS[polarity]
            mark = joined(tag("b", sign, class_=kind, title=title), " ")
        text = _in_sentence(snippet) if _says_more(snippet) else _marked(snippet)
        source = None if snippet.review is None else tag("small", f"review {name_text(snippet.review, 40)}")
        yield tag("li", mark, text, source)


def _says_more(snippet: Snippet) -> bool:
    """Whether the sentence has words beside the snippet's."""
    before, found, after = snippet.sentence.partition(snippet.text)
    return bool(found) and any(char.isalnum() for char in before + after)


def _marked(snippet: Snippet) -> Markup:
    """The text with the words that it is about."""
    if snippet.place is None:
        return escaped(snippet.text)
    start, end = snippet.place
    text = snippet.text
    return joined(text[:start], tag("mark", text[start:end]), text[end:])


def _in_sentence(snippet: Snippet) -> Markup:
    """The sentence, in which the snippet stands out."""
    before, _, after = snippet.sentence.partition(snippet.text)
    rest = [tag("span", part, class_="rest") if part else None for part in (before, after)]
    return joined(rest[0], _marked(snippet), rest[1])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
