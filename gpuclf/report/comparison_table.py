"""A comparison for a person: the systems, one table of tests, and a plain sentence a pair."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from gpuclf.report.comparison import (
    BOOTSTRAP,
    CORRECTED_T,
    MCNEMAR,
    PAIRED_T,
    PROPORTIONS,
    Comparison,
    PairTest,
    Verdict,
    forms_in_words,
)
from gpuclf.report.visible_text import open_console, visible

if TYPE_CHECKING:
    from rich.table import Table

_NAME_WIDTH = 40


def print_comparison(comparison: Comparison, *, stream: IO[str] | None = None) -> None:
    """Figures of the systems, every test of every pair, and whether the data can tell."""
    from rich.table import Table

    console = open_console(stream)
    systems = Table(box=None, pad_edge=False)
    systems.add_column("system")
    systems.add_column("documents", justify="right")
    metrics = list(next(iter(comparison.figures.values())))
    for metric in metrics:
        systems.add_column(metric, justify="right")
    for name, figures in comparison.figures.items():
        documents = f"{comparison.documents[name]:,}"
        systems.add_row(_name(name), documents, *(f"{figures[metric]:.4f}" for metric in metrics))
    console.print(systems)
    console.print()
    console.print(_tests(comparison))
    console.print()
    for verdict in comparison.verdicts:
        console.print(sentence(verdict, comparison), style="bold", soft_wrap=True)
    for test in comparison.tests:
        if test.test == MCNEMAR and test.details["form"] != "no disagreement":
            console.print(
                f"McNemar's forms, {_name(test.first)} and {_name(test.second)}: {forms_in_words(test.details)}",
                soft_wrap=True,
            )
    for note in _notes(comparison):
        console.print(f"note: {visible(note)}", soft_wrap=True)


def _tests(comparison: Comparison) -> Table:
    from rich.table import Table

    several = len(comparison.verdicts) > 1
    table = Table(box=None, pad_edge=False)
    for title in ("better", "than", "metric"):
        table.add_column(title)
    percent = f"{100 * comparison.settings.level:g} % interval"
    for title in ("by", percent):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("test")
    for title in ("p", *(["p (Holm)"] if several else [])):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("can the data tell?")
    for test in comparison.tests:
        better, than, difference, (low, high) = _oriented(test)
        if not test.difference:
            better, than = "neither", f"{better}, {than}"
        tells = test.difference != 0 and test.holm_p < comparison.settings.alpha
        table.add_row(
            better,
            than,
            test.metric,
            f"{difference:.4f}",
            f"{low:+.4f} to {high:+.4f}",
            _test_in_words(test),
            _p(test.p),
            *([_p(test.holm_p)] if several else []),
            "yes" if tells else "no",
            style="bold green" if tells else None,
        )
    return table


def sentence(verdict: Verdict, comparison: Comparison) -> str:
    """Who is better, by how much, and whether the data can tell."""
    test = verdict.by
    better, than, difference, (low, high) = _oriented(test)
    if test.test == MCNEMAR and test.details["form"] == "no disagreement":
        never = "never disagree on what is right (no disagreement: statistic 0, p = 1)"
        return f"{better} and {than} {never}: the data cannot tell them apart"
    corrected = " after Holm's correction" if len(comparison.verdicts) > 1 else ""
    p = f"p {'' if _p(test.holm_p).startswith('<') else '= '}{_p(test.holm_p)}{corrected}"
    interval = f"interval {low:+.4f} to {high:+.4f}"
    if verdict.better is None:
        return f"{better} and {than} have the same {test.metric} ({interval}): the data cannot tell them apart"
    said = f"{better} is better than {than} by {difference:.4f} {test.metric} ({interval})"
    if verdict.significant:
        return f"{said}, and the data can tell: {_test_in_words(test)}, {p}"
    return f"{said}, but the data cannot tell whether that is more than chance: {_test_in_words(test)}, {p}"


def _oriented(test: PairTest) -> tuple[str, str, float, tuple[float, float]]:
    """The better one first; where neither is, as given."""
    first, second = _name(test.first), _name(test.second)
    if test.difference >= 0:
        return first, second, test.difference, test.interval
    return second, first, -test.difference, (-test.interval[1], -test.interval[0])


def _test_in_words(test: PairTest) -> str:
    details = test.details
    if test.test == MCNEMAR:
        only = details["only_first"], details["only_second"]
        return f"McNemar, {details['form']} ({max(only):,} against {min(only):,})"
    if test.test == BOOTSTRAP:
        return f"{BOOTSTRAP} ({details['samples']:,} samples)"
    if test.test == PROPORTIONS:
        return f"{PROPORTIONS} (z = {abs(details['z']):.3f})"
    return f"{test.test} (t = {abs(details['t']):.3f}, df {details['df']})"


def _notes(comparison: Comparison) -> list[str]:
    notes = list(comparison.notes)
    if any(test.test == CORRECTED_T for test in comparison.tests):
        notes.append(
            f"training sets of folds overlap, so the plain {PAIRED_T} finds too much; believe the corrected one "
            "(Nadeau & Bengio 2003)"
        )
    if len(comparison.verdicts) > 1:
        notes.append("intervals are each pair's own; the p values under Holm hold for all pairs together")
    return notes


def _p(p: float) -> str:
    return f"{p:.4g}" if p > 0 else "< 1e-300"


def _name(name: str) -> str:
    return visible(name, _NAME_WIDTH)
