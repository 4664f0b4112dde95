"""Ambiguous words with a model each (features.by_word) as a table: what each was trained on, how often it is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import IO, Any

from gpuclf.report.visible_text import open_console, visible

_WORDS_IN_FULL = 60
_WORST_SHOWN = 15
_TRAINING = ("training_documents", "classes", "majority", "entropy")
_COUNTS = ("training_documents", "classes", "documents")
MACRO_NOTE = "Macro figures, and those by class, are over the senses of all words together."

Judged = Mapping[str, Mapping[str, Any]]
"""Figures of labelled files (as in metrics.json "test") by what their documents are called, those without words left
aside."""


def judged_of(metrics: Mapping[str, Any]) -> Judged:
    """What metrics.json has of held-out documents and of a test file."""
    found = {"held-out": metrics.get("out_of_fold"), "test": metrics.get("test")}
    return {name: figures for name, figures in found.items() if figures}


@dataclass(frozen=True)
class WordTable:
    """Cells of text: a row a word, sorted by name; means over the words, None where there are not several."""

    head: list[str]
    rows: list[list[str]]
    means: list[str] | None


def word_table(judged: Judged) -> WordTable | None:
    """None where no figures have words."""
    tables = {name: figures["per_word"] for name, figures in judged.items() if figures.get("per_word")}
    if not tables:
        return None
    head, keys = ["word", "in training", "senses", "majority", "entropy"], []
    for name, table in tables.items():
        # folds hold out every training document once: their number is already told
        told = all(row["documents"] == row["training_documents"] for row in table.values())
        keys.append(("accuracy",) if told else ("documents", "accuracy"))
        head += [f"{name} {key}".strip() for key in keys[-1]]
    words = sorted(next(iter(tables.values())))
    rows = [_row(word, [table[word] for table in tables.values()], keys) for word in words]
    means = _row("mean over words", [_means(list(table.values())) for table in tables.values()], keys)
    return WordTable(head, rows, means if len(words) > 1 else None)


def lowest_words(rows: Sequence[list[str]]) -> list[list[str]]:
    """The rows of a table; of very many those with the lowest accuracies in the last column."""
    if len(rows) <= _WORDS_IN_FULL:
        return list(rows)
    return sorted(rows, key=lambda row: float(row[-1]) if row[-1] else 2.0)[:_WORST_SHOWN]


def unknown_note(judged: Judged) -> str | None:
    """What a reader must know of documents whose word training did not have; None where there are none."""
    found = {name: figures["unknown_words"] for name, figures in judged.items() if figures.get("unknown_words")}
    counts = ", ".join(
        f"{name} {unknown['documents']:,} (accuracy {unknown['accuracy']:.4f})".strip()
        for name, unknown in found.items()
    )
    meaning = "the most frequent class of all words answers them, and the means leave them out"
    return f"documents of words that training did not have: {counts}; {meaning}" if found else None


def print_words(judged: Judged, stream: IO[str] | None = None) -> None:
    """The table, to stdout unless told otherwise; nothing where no figures have words."""
    from rich.table import Table

    found = word_table(judged)
    if found is None:
        return
    console = open_console(stream)
    shown = lowest_words(found.rows)
    table = Table(found.head[0], box=None, pad_edge=False)
    for name in found.head[1:]:
        table.add_column(visible(name), justify="right")
    for row in [*shown, found.means] if found.means else shown:
        table.add_row(visible(row[0], 50), *row[1:])
    console.print(table)
    if len(shown) < len(found.rows):
        console.print(f"({len(shown)} words with the lowest accuracy, {len(found.rows) - len(shown)} others left out)")
    if (note := unknown_note(judged)) is not None:
        console.print(visible(note, 400), soft_wrap=True, highlight=False)


def _row(name: str, of_files: Sequence[Mapping[str, Any]], keys: Sequence[Sequence[str]]) -> list[str]:
    """What training has of the word, then the figures of each file by their keys."""
    training = [_text(key, of_files[0][key]) for key in _TRAINING]
    return [name, *training, *(_text(key, row[key]) for row, own in zip(of_files, keys, strict=True) for key in own)]


def _means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for key in (*_TRAINING, "documents", "accuracy"):
        known = [float(row[key]) for row in rows if row[key] is not None]
        found[key] = fmean(known) if known else None
    return found


def _text(key: str, value: float | None) -> str:
    """Counts as they are, their means with one decimal, shares and bits with four; nothing for what is not known."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if key in _COUNTS else f"{value:.4f}"
