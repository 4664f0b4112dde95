"""The topics of a content model on the page: their words, and how they follow each other in a review."""

from __future__ import annotations

from gpuclf.report.html.markup import Markup, joined, table, tag
from gpuclf.report.topic_record import TopicFacts


def topic_section(facts: TopicFacts) -> Markup:
    """Two tables: words by topic; probabilities from the row's topic to the column's."""
    rows, columns = facts.names
    words = [[str(number), text or "(none)"] for number, text in enumerate(facts.words)]
    moves = [
        [name, *(f"{share:.2f}" for share in shares)] for name, shares in zip(rows, facts.moves.tolist(), strict=True)
    ]
    note = (
        "Every sentence of a review has a topic. A topic's words are those that tell it most from the background, from "
        "which words come that are no topic's own. Below, how likely a topic follows another, begins a review, ends it."
    )
    return joined(
        tag("p", note, class_="note"),
        table(["topic", "most typical words"], words),
        tag("div", table(["from \\ to", *columns], moves), class_="scroll"),
    )
