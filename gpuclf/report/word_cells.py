"""The cells of a grid by ambiguous word: accuracies on held-out documents, and on how many words the choice matters.

After the table of Bruce & Wiebe 1999, "Decomposable modeling in natural language processing", where a paired t test
over the folds of a word says whether one model is better for it than another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import IO, Any

from gpuclf.metrics.paired_t import paired_t
from gpuclf.report.summary import cell_label
from gpuclf.report.visible_text import open_console, visible
from gpuclf.report.word_table import lowest_words

_ALPHA = 0.05
_MOST = 8  # cells side by side
NOTE = (
    f"Held-out accuracy of each cell by word. Below, on how many words the chosen cell (*) is better or worse by a "
    f"paired t test over folds (p < {_ALPHA}): plain, which finds too much since training sets overlap, and corrected "
    "(Nadeau & Bengio 2003). The cell was chosen by these figures."
)


@dataclass(frozen=True)
class WordCells:
    """Cells of text: a row a word, sorted by name; then rows that sum up. left_out: cells that are not in the table."""

    head: list[str]
    rows: list[list[str]]
    sums: list[list[str]]
    left_out: int


def word_cells(metrics: Mapping[str, Any]) -> WordCells | None:
    """From metrics.json; None where there are no several cells, or no words. Of many cells the best are shown."""
    best = metrics["best"]["cell"]
    found = {place: _by_word(cell) for place, cell in enumerate(metrics["cells"]) if not cell.get("failed")}
    found = {place: words for place, words in found.items() if words}
    if len(found) < 2 or best not in found:
        return None
    means = {place: fmean(fmean(folds.values()) for folds in words.values()) for place, words in found.items()}
    kept = sorted(sorted(found, key=lambda place: (place != best, -means[place], place))[:_MOST])
    names = sorted(found[best])
    label = {place: cell_label(metrics["cells"][place]["options"]) + " *" * (place == best) for place in kept}
    rows = [[word, *(f"{fmean(found[place][word].values()):.4f}" for place in kept)] for word in names]
    sums = [["mean over words", *(f"{means[place]:.4f}" for place in kept)]]
    ratio = metrics.get("folds", {}).get("test_train_ratio")
    if ratio is not None and max(len(folds) for folds in found[best].values()) > 1:
        for kind, given in (("paired t", 0.0), ("corrected", ratio)):
            counts = [_differ(found[best], found[place], given) for place in kept]
            for place, said in enumerate(("better", "worse")):
                cells = ["" if cell == best else str(count[place]) for cell, count in zip(kept, counts, strict=True)]
                sums.append([f"* {said}, {kind}", *cells])
    return WordCells(["word", *label.values()], rows, sums, len(found) - len(kept))


def print_word_cells(metrics: Mapping[str, Any], stream: IO[str] | None = None) -> None:
    """The table, to stdout unless told otherwise; nothing where there are no several cells, or no words."""
    from rich.table import Table

    found = word_cells(metrics)
    if found is None:
        return
    console = open_console(stream)
    shown = lowest_words(found.rows)
    table = Table(found.head[0], box=None, pad_edge=False)
    for name in found.head[1:]:
        table.add_column(visible(name, 40), justify="right")
    for row in [*shown, *found.sums]:
        table.add_row(visible(row[0], 50), *row[1:])
    console.print(table)
    console.print(f"({NOTE}{left_out_text(found)})", soft_wrap=True, highlight=False)


def left_out_text(found: WordCells) -> str:
    """How many cells are not shown."""
    return f" The {found.left_out:,} cells with the lowest means are left out." if found.left_out else ""


def _by_word(cell: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """The accuracy of a cell by word and fold (0 where there are none), means over seeds."""
    given: dict[str, dict[int, list[float]]] = {}
    for run in cell["runs"]:
        for word, accuracy in run.get("per_word", {}).items():
            given.setdefault(word, {}).setdefault(run["fold"] or 0, []).append(accuracy)
    return {word: {fold: fmean(values) for fold, values in folds.items()} for word, folds in given.items()}


def _differ(
    chosen: Mapping[str, Mapping[int, float]], other: Mapping[str, Mapping[int, float]], ratio: float
) -> tuple[int, int]:
    """On how many words the chosen cell is better, and worse, by a paired t test over the folds of the word."""
    better = worse = 0
    for word, folds in chosen.items():
        order = sorted(folds)
        if len(order) > 1:
            test = paired_t([folds[fold] for fold in order], [other[word][fold] for fold in order], ratio)
            better += test.p < _ALPHA and test.mean > 0
            worse += test.p < _ALPHA and test.mean < 0
    return better, worse
