"""report.html of a tagging run: chains, tags with their words, transitions, figures against gold tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpuclf.data.records import ReadReport
from gpuclf.report.html.data_section import data_section
from gpuclf.report.html.figures_section import figure_text, tile, tiles
from gpuclf.report.html.grid_picture import grid_section
from gpuclf.report.html.learning_section import Picture, learning_section
from gpuclf.report.html.markup import Child, Markup, joined, name_text, table, tag
from gpuclf.report.html.mean_curves import MeanCurves
from gpuclf.report.html.page import Section, device_text, document
from gpuclf.report.html.run_section import config_section, environment_section, seconds_text, timings_section
from gpuclf.report.html.svg import picture
from gpuclf.report.summary import cell_label
from gpuclf.report.tagging.settings_table import SettingsRow
from gpuclf.report.tagging.tag_facts import START, STOP, TagFacts

PICTURES: tuple[Picture, ...] = (
    ("grid", "fit/log_joint", "log joint, mean over chains"),
    ("grid", "gold/many_to_one", "many-to-one against gold tags"),
    ("grid", "gold/v_measure", "V-measure against gold tags"),
    ("grid", "fit/tag_changes", "types whose tag a sweep changed"),
)
_GOLD = ("many_to_one", "one_to_one", "v_measure", "homogeneity", "completeness", "variation_of_information")
_SIDE = 14.0


@dataclass(frozen=True)
class TaggingFacts:
    """A finished tagging run. metrics: metrics.json; reads: (role, what was read) of each file."""

    name: str
    learner: str
    metrics: Mapping[str, Any]
    tags: TagFacts
    settings: Sequence[SettingsRow]
    finished: datetime
    config_text: str
    folder: str = ""
    reads: Sequence[tuple[str, ReadReport]] = ()
    curves: MeanCurves = field(default_factory=MeanCurves)
    environment: Mapping[str, Any] = field(default_factory=dict)


def tagging_page(facts: TaggingFacts) -> str:
    """The source of report.html."""
    return document(facts.name, _header(facts), list(_sections(facts)))


def _header(facts: TaggingFacts) -> Iterator[Markup]:
    metrics, best = facts.metrics, facts.metrics["best"]
    yield tag("h1", name_text(facts.name, None))
    when, took = facts.finished.strftime("%Y-%m-%d %H:%M"), seconds_text(sum(metrics["seconds"].values()))
    lead = f"{facts.learner} · finished {when} · {took} on {device_text(metrics['device'], facts.environment)}"
    yield tag("p", joined(lead, f" · {name_text(facts.folder, 120)}" if facts.folder else None), class_="lead")
    found = [tile("log joint of the tagger", figure_text(best["log_joint"]), f"seed {best['seed']}")]
    gold = metrics.get("gold") or {}
    found += [tile(name, figure_text(gold[name])) for name in _GOLD[:3] if name in gold]
    if len(metrics["cells"]) > 1:
        note = f"mean {best['metric']} {figure_text(best['value'])}"
        found.append(tile("chosen cell", name_text(cell_label(best["options"]), 80), note))
    runs = sum(len(cell["runs"]) for cell in metrics["cells"])
    text = metrics["text"]
    sizes = {"chains": runs, "tags used": metrics["tags_used"], "types": text["types"], "tokens": text["tokens"]}
    found += [tile(name, f"{value:,}") for name, value in sizes.items()]
    yield tag("div", *found, class_="tiles")


def _sections(facts: TaggingFacts) -> Iterator[Section]:
    metrics = facts.metrics
    yield "grid", "Chains", joined(grid_section(metrics["cells"], metrics["best"]), _settings(facts.settings))
    yield "learning", "Sweeps", learning_section(facts.curves, metrics["cells"], metrics["best"], PICTURES)
    yield "tags", "Tags", _tags(facts.tags)
    yield "transitions", "Transitions", _transitions(facts.tags)
    for key, title in (("gold", "Against gold tags"), ("test", "Test")):
        if key in metrics:
            yield key, title, joined(tag("p", _GOLD_NOTE, class_="note"), tiles(metrics[key], _GOLD))
    yield "data", "Data", data_section(facts.reads, ())
    yield "config", "Config", config_section(facts.config_text)
    yield "timings", "Timings", timings_section(metrics["seconds"])
    yield "environment", "Environment", environment_section(facts.environment)


_GOLD_NOTE = "Every token counts. Gold tags measure what was induced; they have no part in training."


def _settings(rows: Sequence[SettingsRow]) -> Markup | None:
    if not rows:
        return None
    head: list[Child] = ["level", "settings", "chains"]
    for figure in rows[0].figures:
        head += [f"{figure.replace('_', ' ')}, best", "median"]
    body: list[list[Child]] = [
        [
            row.level,
            str(row.settings),
            str(row.chains),
            *(f"{100 * value:.1f}" for pair in row.figures.values() for value in pair),
        ]
        for row in rows
    ]
    note = "By level: the best setting and the median one by one-to-one accuracy, each by its median seed, in per cent."
    return joined(tag("p", note, class_="note"), table(head, body, numbers=range(1, len(head))))


def _tags(facts: TagFacts) -> Markup:
    rows: list[list[Child]] = []
    for place, found in enumerate(facts.tags):
        words = joined(
            *(tag("span", f"{name_text(word, 30)} ", title=f"{count:,} tokens") for word, count in found.words)
        )
        rows.append([found.name, f"{found.tokens:,}", f"{found.types:,}", words, _followers(facts, place)])
    rows.append([START, "", "", "", _followers(facts, len(facts.tags))])
    note = "The most frequent words of each tag; a word type has one tag."
    head = ["tag", "tokens", "types", "words", "followed by"]
    return joined(tag("p", note, class_="note"), table(head, rows, numbers=(1, 2), class_="sortable"))


def _followers(facts: TagFacts, place: int) -> str:
    shares = facts.follows[place]
    names = [*(found.name for found in facts.tags), STOP]
    order = shares.sort(descending=True, stable=True).indices[:4].tolist()
    return ", ".join(f"{names[other]} {float(shares[other]):.0%}" for other in order if float(shares[other]) > 0)


def _transitions(facts: TagFacts) -> Markup:
    """The heat map: a row a tag, its colour the share of the tag that follows."""
    rows, columns = [*(found.name for found in facts.tags), START], [*(found.name for found in facts.tags), STOP]
    margin = 12 + 6.4 * max(len(name) for name in (*rows, *columns))
    width, height = margin + _SIDE * len(columns) + 4, margin + _SIDE * len(rows) + 4
    back = tag("rect", x=margin, y=margin, width=_SIDE * len(columns), height=_SIDE * len(rows), class_="back")
    content: list[Markup] = [back]
    for place, name in enumerate(rows):
        label = tag("text", name, x=margin - 6, y=margin + _SIDE * (place + 0.5) + 4)
        content.append(tag("g", label, class_="rowname"))
    for place, name in enumerate(columns):
        at = margin + _SIDE * (place + 0.5) + 4
        content.append(tag("text", name, transform=f"translate({at:.1f} {margin - 6:.1f}) rotate(-90)"))
    follows, highest = facts.follows, float(facts.follows.max()) or 1.0
    for row, line in enumerate(follows.tolist()):
        for column, share in enumerate(line):
            if share > 0:
                said = f"{rows[row]} → {columns[column]}: {share:.1%}, {int(facts.transitions[row, column]):,} times"
                x, y = margin + _SIDE * column, margin + _SIDE * row
                opacity = max(share / highest, 0.03)
                box = tag("rect", tag("title", said), x=x, y=y, width=_SIDE - 1, height=_SIDE - 1, fill_opacity=opacity)
                content.append(tag("g", box, class_="right"))
    title = "Share of each following tag, by tag"
    drawing = picture(width, height, *content, title=title, class_="chart matrix large")
    note = "A row is a tag, a column the tag that follows it; the darker, the larger its share of the row."
    return joined(tag("p", note, class_="note"), tag("div", drawing, class_="scroll"))
