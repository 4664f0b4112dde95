"""Ambiguous words that have a decomposable model each, on the page: a table of words, then the model of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpuclf.report.graph_facts import WordFacts
from gpuclf.report.html.graph_section import clique_tree, drawn_graph
from gpuclf.report.html.markup import Markup, folded, joined, name_text, table, tag
from gpuclf.report.word_cells import NOTE, left_out_text, word_cells
from gpuclf.report.word_pictures import drawn_note, drawn_words
from gpuclf.report.word_table import MACRO_NOTE, Judged, judged_of, unknown_note, word_table


def word_section(words: Mapping[str, WordFacts], metrics: Mapping[str, Any]) -> Markup:
    """metrics: metrics.json."""
    judged = judged_of(metrics)
    unknown = unknown_note(judged)
    note = (
        "Every word has a model of its own, trained on its contexts alone. Majority: the share of its most frequent "
        "sense among its training documents; entropy: of the shares of its senses, in bits."
    )
    return joined(
        tag("p", f"{note} {MACRO_NOTE}", class_="note"),
        *_figures(judged),
        tag("p", name_text(unknown, None), class_="note") if unknown else None,
        *_cells(metrics),
        tag("p", name_text(drawn_note(words), None), class_="note"),
        *_models(words),
    )


def _figures(judged: Judged) -> Iterator[Markup]:
    """The table of words, and the means over them."""
    found = word_table(judged)
    if found is None:
        return
    rows = [[tag("span", name_text(row[0]), title=row[0]), *row[1:]] for row in found.rows]
    yield table(found.head, rows, numbers=range(1, len(found.head)), class_="sortable")
    if found.means is not None:
        means = ", ".join(f"{name} {value}" for name, value in zip(found.head[1:], found.means[1:], strict=True))
        yield tag("p", f"Means over words: {means}.", class_="note")


def _cells(metrics: Mapping[str, Any]) -> Iterator[Markup]:
    """The cells of a grid side by side, by word."""
    found = word_cells(metrics)
    if found is not None:
        rows = [[name_text(row[0]), *row[1:]] for row in (*found.rows, *found.sums)]
        yield tag("p", NOTE + left_out_text(found), class_="note")
        yield table([name_text(name, 80) for name in found.head], rows, numbers=range(1, len(found.head)))


def _models(words: Mapping[str, WordFacts]) -> list[Markup]:
    """The senses and the product of tables of each word behind its name, with the graphs of those that are drawn."""
    drawn = set(drawn_words(words))
    edges = {word: len(words[word].graph.edges) for word in words}
    return [
        folded(
            f"{name_text(word)}: {edges[word]:,} edge{'s' * (edges[word] != 1)}",
            drawn_graph(words[word].graph) if word in drawn else None,
            tag("pre", "\n".join(name_text(line, None) for line in words[word].lines())),
            clique_tree(words[word].graph) if edges[word] else None,
        )
        for word in sorted(words)
    ]
