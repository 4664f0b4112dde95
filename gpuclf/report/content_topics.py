"""What a content model has learnt: the words of its topics, and how topics follow each other, as text and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from gpuclf.features.review_context import ReviewContext
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.models.sequence.topic_chain import topic_moves, typical_words
from gpuclf.report.plots import plain_text
from gpuclf.report.topic_record import TopicFacts
from gpuclf.report.visible_text import visible
from gpuclf.train.model_file import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WORDS = 12


def topic_facts(model: Model) -> TopicFacts | None:
    """Of a model with topics; None for others."""
    predictor, encoder = model.predictor, model.encoder
    if not isinstance(predictor, ContentPredictor) or not isinstance(encoder, ReviewContext):
        return None
    topics = predictor.topics
    numbers = typical_words(topics, _WORDS)[0].tolist()
    words = [" ".join(encoder.words[number] for number in topic if number >= 0) for topic in numbers]
    return TopicFacts(words, topic_moves(topics)[0].cpu())


def topics_markdown(words: Sequence[str]) -> str:
    """A table of the topics for TensorBoard. Words are single tokens, and no letter of theirs is markup but `_`."""
    rows = [f"| {number} | {topic.replace('_', chr(92) + '_')} |" for number, topic in enumerate(words)]
    return "\n".join(["| topic | most typical words |", "|---|---|", *rows])


def moves_figure(facts: TopicFacts) -> Figure:
    """A row a topic, or the start of a review; a column the topic after it, or the end."""
    moves, (rows, columns) = facts.moves, facts.names
    size = len(rows)
    with plain_text():
        from matplotlib.figure import Figure

        side = min(3.5 + 0.4 * size, 16.0)
        figure = Figure(figsize=(side + 1.2, side), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(moves.numpy(), cmap="Blues", vmin=0.0, vmax=max(float(moves.max()), 1e-9))
        axes.set_xticks(range(size), columns, rotation=90, fontsize=8)
        axes.set_yticks(range(size), rows, fontsize=8)
        axes.set(xlabel="to", ylabel="from", title="Probabilities of transitions between topics")
        for row, column in torch.cartesian_prod(torch.arange(size), torch.arange(size)).tolist():
            share = float(moves[row, column])
            colour = "white" if share > 0.6 * float(moves.max()) else "black"
            axes.text(column, row, f"{share:.2f}", ha="center", va="center", fontsize=7, color=colour)
        figure.colorbar(image, ax=axes, shrink=0.6)
    return figure


def print_topics(console: Any, facts: TopicFacts) -> None:
    """Topics by their words, and their transitions."""
    from rich.table import Table

    console.print("Topics by the words that tell them from the background", style="bold")
    table = Table("topic", "words", box=None, pad_edge=False)
    for number, words in enumerate(facts.words):
        table.add_row(str(number), visible(words, 200) or "(none)")
    console.print(table, "")
    console.print("Probabilities of transitions between topics, from the row to the column", style="bold")
    rows, columns = facts.names
    table = Table("from \\ to", box=None, pad_edge=False)
    for name in columns:
        table.add_column(name.removeprefix("topic "), justify="right", no_wrap=True)
    for name, shares in zip(rows, facts.moves.tolist(), strict=True):
        table.add_row(name, *(f"{share:.2f}" for share in shares))
    console.print(table, "")
