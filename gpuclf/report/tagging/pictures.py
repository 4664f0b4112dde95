"""Pictures of a tagger: which tag follows which, how large the tags are. Matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuclf.report.plots import plain_text
from gpuclf.report.tagging.tag_facts import START, STOP, TagFacts

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def transitions_figure(facts: TagFacts) -> Figure:
    """A row a tag (and the sentence start), coloured by the share of the tags that follow (and of the end)."""
    rows = [*(_label(facts, place) for place in range(len(facts.tags))), START]
    columns = [*(tag.name for tag in facts.tags), STOP]
    with plain_text():
        from matplotlib.figure import Figure

        side = min(max(3.0 + 0.22 * len(rows), 5.0), 20.0)
        figure = Figure(figsize=(side + 2.5, side), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(facts.follows.numpy(), cmap="viridis", vmin=0.0)
        axes.set_yticks(range(len(rows)), rows, fontsize=7)
        axes.set_xticks(range(len(columns)), columns, rotation=90, fontsize=7)
        axes.set(xlabel="next tag", ylabel="tag", title="Which tag follows which")
        figure.colorbar(image, ax=axes, shrink=0.6, label="share of the row")
    return figure


def sizes_figure(facts: TagFacts) -> Figure:
    """Tokens and types of each tag, the most frequent first."""
    with plain_text():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9.0, max(3.0, 0.2 * len(facts.tags) + 1.2)), dpi=100, layout="constrained")
        places = range(len(facts.tags))
        for axes, values, title in zip(
            figure.subplots(1, 2, sharey=True),
            ([tag.tokens for tag in facts.tags], [tag.types for tag in facts.tags]),
            ("tokens", "types"),
            strict=True,
        ):
            axes.barh(places, values, color="C0")
            axes.set(title=title)
            axes.grid(axis="x", alpha=0.3)
        left = figure.axes[0]
        left.set_yticks(places, [_label(facts, place) for place in places], fontsize=7)
        left.invert_yaxis()
    return figure


def _label(facts: TagFacts, place: int) -> str:
    """A tag's name and its most frequent words."""
    tag = facts.tags[place]
    return f"{' '.join(word[:12] for word, _ in tag.words[:3])}  {tag.name}"
