"""What the commands print: the grid, the test, what was read, faults. Results to stdout, the rest to stderr."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from gpuclf.data.records import ReadReport
from gpuclf.faults import UserFault, UserFaults
from gpuclf.report.strict_json import number
from gpuclf.report.summary import NOT_EVALUATED, cell_failure, cell_label, metric_names, option_text, short_names
from gpuclf.report.visible_text import open_console, visible

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_CLASSES_IN_FULL = 30
_WORST_SHOWN = 15
_NAMES_SHOWN = 10
# What some classes did to the averages: the key of a figure's list, how it is called, and what it means.
_NOTES = (
    ("never_predicted", "never predicted", "macro figures count the class, with precision and F1 of 0"),
    ("without_gold", "predicted, but of no document", "macro figures count the class, with recall and F1 of 0"),
    ("not_in_training", "not in training", "such documents count as errors, and macro figures count the class"),
)


def print_grid(
    cells: Sequence[Mapping[str, Any]],
    best: Mapping[str, Any] | None,
    *,
    alternatives: Mapping[str, Mapping[str, Any]] | None = None,
    stream: IO[str] | None = None,
) -> None:
    """The grid, one row a cell: mean ± sd of each metric over folds and seeds; cells and best as in metrics.json.

    The cell of `best` is marked. Cells that failed or diverged come last, with the reason in place of figures. Order is
    otherwise the grid's own. `alternatives`: other predictors of the same models (say, "final" beside an averaged one)
    by name, each as {metric: value}, printed below.
    """
    console = open_console(stream)
    console.print(grid_table(cells, best))
    for name, figures in (alternatives or {}).items():
        console.print(f"{visible(name)}: {_figures_line(figures)}")
    if best is not None and best["value"] is not None:
        label = visible(cell_label(cells[best["cell"]]["options"]))
        console.print(f"best: {label} ({best['metric']} {_figure(best['value'])})", style="bold")
    elif all(cell_failure(cell) == NOT_EVALUATED for cell in cells):
        console.print("no held-out documents: nothing was compared")
    else:
        console.print("no cell has a finite result: nothing was chosen", style="bold red")


def grid_table(cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None) -> Table:
    """The table of `print_grid`."""
    from rich.table import Table

    keys = list(dict.fromkeys(key for cell in cells for key in cell["options"]))
    names = short_names(keys)
    failures = [cell_failure(cell) for cell in cells]
    metrics = metric_names([cell for cell, failure in zip(cells, failures, strict=True) if failure is None])
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for key in keys:
        table.add_column(visible(names[key], 40), justify="right")
    for metric in metrics:
        table.add_column(visible(metric), justify="right", no_wrap=True)
    table.add_column("runs", justify="right")
    if any(failures):
        table.add_column("")
    order = sorted(range(len(cells)), key=lambda index: failures[index] is not None)
    for index in order:
        cell, failure = cells[index], failures[index]
        chosen = best is not None and best["cell"] == index
        figures = [""] * len(metrics) if failure else [_mean_sd(cell, metric) for metric in metrics]
        row = [
            "*" if chosen else "",
            *(visible(option_text(cell["options"].get(key)), 40) if key in cell["options"] else "" for key in keys),
            *figures,
            str(len(cell.get("runs", ()))),
        ]
        if any(failures):
            row.append(_outcome(failure))
        table.add_row(*row, style="bold green" if chosen else ("red" if failure else None))
    return table


def print_test(test: Mapping[str, Any], *, rows_are: str = "test", stream: IO[str] | None = None) -> None:
    """The figures of an evaluation (as in metrics.json "test"): one line, then a table per class.

    With more than thirty classes the table holds the fifteen with the lowest F1, and says so. Classes that the training
    file did not have are named, with what they do to the figures.
    """
    console = open_console(stream)
    overall = {key: value for key, value in test.items() if number(value) is not None}
    console.print(f"{visible(rows_are)}: {_figures_line(overall)}", style="bold")
    per_class = test.get("per_class") or {}
    if not per_class:
        return
    chunks = test.get("per_chunk")
    if chunks:
        console.print(per_class_table(chunks, "chunk")[0])
    table, hidden = per_class_table(per_class)
    console.print(table)
    if hidden:
        console.print(f"({_WORST_SHOWN} classes with the lowest f1, {hidden} others left out)")
    for key, name, meaning in _NOTES:
        if test.get(key):
            console.print(f"{name}: {_some(test[key])}; {meaning}", soft_wrap=True)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(visible(name, 50) for name in names[:_NAMES_SHOWN])
    return shown if len(names) <= _NAMES_SHOWN else f"{shown} and {len(names) - _NAMES_SHOWN:,} more"


def per_class_table(per_class: Mapping[str, Mapping[str, Any]], heading: str = "class") -> tuple[Table, int]:
    """A row per class, in the order given; of many classes the ones with the lowest F1. And how many are left out."""
    from rich.table import Table

    figures = list(dict.fromkeys(key for row in per_class.values() for key in row))
    names = list(per_class)
    if len(names) > _CLASSES_IN_FULL:
        names = sorted(names, key=lambda name: _sort_figure(per_class[name].get("f1")))[:_WORST_SHOWN]
    table = Table(box=None, pad_edge=False)
    table.add_column(heading)
    for figure in figures:
        table.add_column(visible(figure), justify="right")
    for name in names:
        table.add_row(visible(name, 50), *(_figure(per_class[name].get(figure)) for figure in figures))
    return table, len(per_class) - len(names)


def print_read_reports(reports: Sequence[ReadReport], *, stream: IO[str] | None = None) -> None:
    """What was read of each file: records beside lines, empty documents, documents per class. To stderr by default."""
    console = open_console(sys.stderr if stream is None else stream)
    for report in reports:
        facts = [f"{report.records:,} records in {report.lines:,} lines", report.format]
        if report.skipped:
            facts.append(f"{report.skipped:,} skipped")
        if report.empty_documents:
            facts.append(f"{report.empty_documents:,} empty documents")
        console.print(f"read {visible(str(report.path))}: {', '.join(facts)}", soft_wrap=True)
        if report.per_class:
            console.print(f"  {_class_sizes(report.per_class)}", soft_wrap=True)
        for note in report.notes:
            console.print(f"  {visible(note)}", soft_wrap=True)


def print_fault(fault: UserFault, *, stream: IO[str] | None = None) -> None:
    """A user's fault, or several, each on a line of its own; to stderr by default."""
    console = open_console(sys.stderr if stream is None else stream)
    faults = fault.faults if isinstance(fault, UserFaults) else (fault,)
    for item in faults:
        console.print(_error_line("\n".join(visible(line) for line in str(item).split("\n"))), soft_wrap=True)


def _error_line(text: str) -> Text:
    from rich.text import Text

    return Text.assemble(("error: ", "bold red"), text)


def _class_sizes(per_class: Mapping[str, int]) -> str:
    """All classes when they are few; else how many, and the smallest and largest."""
    shown = [f"{visible(name, 40)} {count:,}" for name, count in sorted(per_class.items())]
    if len(shown) <= 12:
        return f"{len(shown)} classes: {', '.join(shown)}" if len(shown) != 1 else f"1 class: {shown[0]}"
    by_size = sorted(per_class.items(), key=lambda item: (item[1], item[0]))
    smallest = ", ".join(f"{visible(name, 40)} {count:,}" for name, count in by_size[:3])
    largest = ", ".join(f"{visible(name, 40)} {count:,}" for name, count in reversed(by_size[-3:]))
    return f"{len(shown)} classes; largest: {largest}; smallest: {smallest}"


def _mean_sd(cell: Mapping[str, Any], metric: str) -> str:
    """`0.9312 ± 0.0104`; without ± when there is one run only."""
    mean = number((cell.get("mean") or {}).get(metric))
    if mean is None:
        return ""
    spread = number((cell.get("std") or {}).get(metric))
    if spread is None or len(cell.get("runs", ())) < 2:
        return _figure(mean)
    return f"{_figure(mean)} ± {_figure(spread)}"


def _outcome(failure: str | None) -> str:
    if failure is None or failure == NOT_EVALUATED:
        return failure or ""
    return f"failed: {visible(failure, 80)}"


def _figures_line(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{visible(str(key))} {_figure(value)}" for key, value in figures.items())


def _figure(value: Any) -> str:
    """Counts as they are, other numbers with four decimals (or three digits when they are large)."""
    figure = number(value)
    if figure is None:
        return "" if value is None else visible(str(value), 40)
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(figure):
        return str(figure)
    return f"{figure:.4f}" if abs(figure) < 100 else f"{figure:,.1f}"


def _sort_figure(value: Any) -> float:
    figure = number(value)
    return -1.0 if figure is None or math.isnan(figure) else figure
