"""Decomposable models of several ambiguous words in TensorBoard: graphs as pictures, tables and products as text."""

from __future__ import annotations

from collections.abc import Mapping

from gpuclf.report.graph_facts import WordFacts
from gpuclf.report.graph_figure import clique_tree_figure, graph_figure
from gpuclf.report.plots import png
from gpuclf.report.tensorboard_texts import markdown
from gpuclf.report.word_table import Judged, unknown_note, word_table

_MOST = 12  # words whose graphs are drawn


def drawn_words(words: Mapping[str, WordFacts]) -> list[str]:
    """The words whose graphs are drawn: the first dozen that have an edge, by name."""
    return [word for word in sorted(words) if words[word].graph.edges][:_MOST]


def drawn_note(words: Mapping[str, WordFacts]) -> str:
    """Which words are drawn and which are not, and why."""
    drawn = set(drawn_words(words))
    bare = [word for word in sorted(words) if not words[word].graph.edges]
    more = [word for word in sorted(words) if words[word].graph.edges and word not in drawn]
    parts = [f"Drawn: the graphs of {len(drawn):,} of {len(words):,} words."]
    if more:
        parts.append(f"Not drawn, beyond the first {_MOST}: {', '.join(more)}.")
    if bare:
        parts.append(f"Without an edge, so that nothing is to be drawn: {', '.join(bare)}.")
    return " ".join(parts)


def word_pictures(words: Mapping[str, WordFacts]) -> dict[str, bytes]:
    """The graphs and clique trees of the words that are drawn, as PNG files by name."""
    kinds = {"graph": graph_figure, "clique_tree": clique_tree_figure}
    return {
        f"{name}/{word}": png(draw(words[word].graph)) for name, draw in kinds.items() for word in drawn_words(words)
    }


def word_texts(words: Mapping[str, WordFacts], judged: Judged) -> dict[str, str]:
    """In Markdown: how often each word is right, and the model of each; nothing without words."""
    if not words:
        return {}
    blocks = [markdown(drawn_note(words))]
    for word in sorted(words):
        model = "\n".join(f"    {line}" for line in words[word].lines())
        blocks.append(f"**{markdown(word)}**\n\n{model}")
    found = {"factorisation": "\n\n".join(blocks)}
    table = word_table(judged)
    if table is not None:
        rows = [table.head, *table.rows, *([table.means] if table.means else [])]
        listed = [f"| {' | '.join(markdown(cell) for cell in row)} |" for row in rows]
        lines = [listed[0], f"|---|{'---:|' * (len(table.head) - 1)}", *listed[1:]]
        if (note := unknown_note(judged)) is not None:
            lines += ["", markdown(note)]
        found["words"] = "\n".join(lines)
    return found
