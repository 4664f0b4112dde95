"""The whole page: one file, nothing from outside, readable without its script, on paper, by day and by night."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from gpuclf.report.html.confusion_table import confusion_section
from gpuclf.report.html.data_section import data_section
from gpuclf.report.html.features_section import features_section
from gpuclf.report.html.figures_section import figure_text, figures_section, tile
from gpuclf.report.html.forest_section import forest_section
from gpuclf.report.html.graph_section import graph_section
from gpuclf.report.html.grid_picture import grid_section
from gpuclf.report.html.learning_section import learning_section
from gpuclf.report.html.markup import Markup, joined, name_text, tag
from gpuclf.report.html.mistakes_section import mistakes_section
from gpuclf.report.html.page_facts import PageFacts
from gpuclf.report.html.ranking_section import ranking_section
from gpuclf.report.html.reliability_section import no_reliability, reliability_section
from gpuclf.report.html.run_section import config_section, environment_section, seconds_text, timings_section
from gpuclf.report.html.shell import shell
from gpuclf.report.html.topic_section import topic_section
from gpuclf.report.html.transition_section import transition_section
from gpuclf.report.html.word_section import word_section
from gpuclf.report.strict_json import number
from gpuclf.report.summary import cell_label

Section = tuple[str, str, Markup]  # anchor, title, content


def page(facts: PageFacts) -> str:
    """The source of report.html."""
    return document(facts.figures.name, _header(facts), list(_sections(facts)))


def document(name: str, header: Iterable[Markup], sections: Sequence[Section]) -> str:
    """A page of this look, whatever it tells of: a header with links, then the sections."""
    style, script = (_own_file(file) for file in ("style.css", "sort_tables.js"))
    links = tag("nav", *(tag("a", title, href=f"#{anchor}") for anchor, title, _ in sections))
    return shell(
        name,
        style,
        script,
        tag("header", *header, links),
        *(tag("section", tag("h2", title), content, id=anchor) for anchor, title, content in sections),
    )


def _own_file(name: str) -> str:
    return resources.files("gpuclf.report.html").joinpath(name).read_text(encoding="utf-8")


def _header(facts: PageFacts) -> Iterator[Markup]:
    figures, best = facts.figures, facts.figures.best
    yield tag("h1", name_text(figures.name, None))
    when = facts.finished.strftime("%Y-%m-%d %H:%M")
    took = seconds_text(sum(figures.seconds.values()))
    lead = f"{facts.learner} · finished {when} · {took} on {device_text(figures.device, facts.environment)}"
    yield tag("p", joined(lead, f" · {name_text(facts.folder, 120)}" if facts.folder else None), class_="lead")
    found = []
    if facts.judged:
        metric = str(best["metric"]) if best is not None else "accuracy"
        for name in dict.fromkeys((metric, "accuracy", "macro_f1")):
            if number(facts.judged.get(name)) is not None:
                found.append(tile(f"{facts.rows_are} {name}", figure_text(facts.judged[name])))
    if best is not None and number(best["value"]) is not None and len(figures.cells) > 1:
        options = figures.cells[best["cell"]]["options"]
        note = f"held-out {best['metric']} {figure_text(best['value'])}"
        found.append(tile("chosen cell", name_text(cell_label(options), 80), note))
    runs = sum(len(cell.get("runs", ())) for cell in figures.cells)
    found.append(tile("models compared" if runs > 1 else "model", f"{runs:,}"))
    found.append(tile("classes", f"{len(figures.classes):,}"))
    if figures.feature_names is not None:
        found.append(tile("features", f"{len(figures.feature_names):,}"))
    yield tag("div", *found, class_="tiles")


def device_text(device: str, environment: Mapping[str, Any]) -> str:
    """The device of a run and, where env.json knows it, the card's name."""
    name = (environment.get("device") or {}).get("name")
    return device if not name else f"{device} ({name_text(str(name))})"


def _sections(facts: PageFacts) -> Iterator[Section]:
    """In the order of the page."""
    figures = facts.figures
    metric = str(figures.best["metric"]) if figures.best is not None else "accuracy"
    yield "grid", "Grid", grid_section(figures.cells, figures.best)
    curves = learning_section(facts.curves, figures.cells, figures.best)
    ended = tag("p", " ".join(figures.ending), class_="note") if figures.ending else None
    yield "learning", "Learning curves", joined(ended, curves)
    which = "Test" if figures.rows_are == "test" else "Held-out figures"
    yield "figures", which, figures_section(facts.metrics, facts.judged, metric)
    if facts.confusion is not None and facts.confusion.numel():
        content = confusion_section(facts.confusion, facts.gold_classes, len(figures.classes))
        yield "confusion", "Confusion matrix", content
    if figures.gold is not None and figures.scores is not None and figures.gold.numel():
        yield "ranking", "Precision and recall", ranking_section(figures.gold, figures.scores, figures.classes)
        yield (
            "reliability",
            "Reliability",
            (
                reliability_section(figures.gold, figures.scores, facts.metrics.get("calibration"))
                if facts.probabilities
                else no_reliability(facts.learner)
            ),
        )
    if figures.importances is not None:
        yield "forest", "Forest", forest_section(figures.importances, figures.tree, figures.forest)
    elif figures.graph is not None:
        yield "graph", "Graph", graph_section(figures.graph)
    elif figures.words:
        yield "words", "Words", word_section(figures.words, facts.metrics)
    else:
        yield "features", "Top features", features_section(figures.weights, figures.feature_names, figures.classes)
    if figures.transitions is not None:
        yield "transitions", "Transitions", transition_section(figures.transitions, figures.classes)
    if figures.topics is not None:
        yield "topics", "Topics", topic_section(figures.topics)
    wrong = 0 if facts.confusion is None else int(facts.confusion.sum() - facts.confusion.diagonal().sum())
    if facts.confusion is not None:
        yield "mistakes", "Mistakes", mistakes_section(facts.mistakes, wrong, facts.probabilities)
    yield "data", "Data", data_section(facts.reads, figures.classes)
    yield "config", "Config", config_section(figures.config_text)
    yield "timings", "Timings", timings_section(figures.seconds)
    yield "environment", "Environment", environment_section(facts.environment)
