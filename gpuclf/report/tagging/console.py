"""A tagger on the terminal: its tags with their words, which tag follows which, and the table over settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, Any

from gpuclf.report.console import print_grid
from gpuclf.report.tagging.settings_table import SettingsRow
from gpuclf.report.tagging.tag_facts import START, STOP, TagFacts
from gpuclf.report.visible_text import open_console, visible

SHOWN = ("log_joint", "many_to_one", "one_to_one", "v_measure")  # of the chains' figures; metrics.json has the rest
_FOLLOWERS = 4
_WORD = 24


def print_chains(cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """The grid of chains, and which one became the tagger."""
    print_grid([_headline(cell) for cell in cells], best, stream=stream)
    console = open_console(stream)
    console.print(f"the tagger is the chain of seed {best['seed']}: log joint {best['log_joint']:,.1f}")


def _headline(cell: Mapping[str, Any]) -> dict[str, Any]:
    keep = {*SHOWN, "seed", "fold", "failed"}
    runs = [{key: value for key, value in run.items() if key in keep} for run in cell["runs"]]
    mean, std = ({n: cell[part][n] for n in SHOWN if n in cell[part]} for part in ("mean", "std"))
    return {**cell, "runs": runs, "mean": mean, "std": std}


def print_tags(facts: TagFacts, stream: IO[str] | None = None) -> None:
    """A row a tag: size, most frequent words, and the tags that follow most often."""
    from rich.table import Table

    console = open_console(stream)
    table = Table("tag", box=None, pad_edge=False)
    for heading in ("tokens", "types"):
        table.add_column(heading, justify="right")
    table.add_column("words")
    table.add_column("followed by")
    names = [*(tag.name for tag in facts.tags), STOP]
    for tag, shares in zip((*facts.tags, None), facts.follows, strict=True):
        order = shares.sort(descending=True, stable=True).indices[:_FOLLOWERS].tolist()
        after = ", ".join(f"{names[place]} {float(shares[place]):.0%}" for place in order if float(shares[place]) > 0)
        if tag is None:
            table.add_row(START, "", "", "", after)
        else:
            words = " ".join(visible(word, _WORD) for word, _ in tag.words)
            table.add_row(tag.name, f"{tag.tokens:,}", f"{tag.types:,}", words, after)
    console.print("Tags with their most frequent words, and the tags that follow most often", style="bold")
    console.print(table)
    if facts.unused:
        console.print(f"{facts.unused} tag(s) have no word")


def print_settings(rows: Sequence[SettingsRow], stream: IO[str] | None = None) -> None:
    """The table over settings, if there is one; figures in per cent."""
    from rich.table import Table

    if not rows:
        return
    table = Table("level", box=None, pad_edge=False)
    for heading in ("settings", "chains"):
        table.add_column(heading, justify="right")
    for figure in rows[0].figures:
        table.add_column(f"{figure} best", justify="right")
        table.add_column("median", justify="right")
    for row in rows:
        values = [f"{100 * value:.1f}" for pair in row.figures.values() for value in pair]
        table.add_row(row.level, str(row.settings), str(row.chains), *values)
    console = open_console(stream)
    console.print(
        "By level: the best setting and the median one by one-to-one accuracy, each by its median seed", style="bold"
    )
    console.print(table)


def print_gold(title: str, figures: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """Figures against gold tags on one line."""
    names = ("many_to_one", "one_to_one", "v_measure", "homogeneity", "completeness", "variation_of_information")
    shown = ", ".join(f"{name} {figures[name]:.4f}" for name in names if name in figures)
    extra = (
        f", {figures['unseen_tokens']:,} of {figures['tokens']:,} tokens unseen" if "unseen_tokens" in figures else ""
    )
    open_console(stream).print(f"{title}: {shown}{extra}")
