"""The table of Lee, Haghighi & Barzilay (2010, section 5.2): a tagger at its best and at its median setting, by level.

A setting is a cell of the grid. Settings are sorted by the median one-to-one accuracy of their seeds; the best and the
median one are shown, each by all figures of its median run. All of this looks at gold tags: it describes the model, and
chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuclf.report.strict_json import number

LEVEL = "model.level"
SORTED_BY = "one_to_one"
FIGURES = ("one_to_one", "many_to_one", "v_measure")


@dataclass(frozen=True)
class SettingsRow:
    """One level: its number of settings and of chains; by figure that of (the best setting, the median one)."""

    level: str
    settings: int
    chains: int
    figures: dict[str, tuple[float, float]]


def settings_rows(cells: Sequence[Mapping[str, Any]], level: str) -> list[SettingsRow]:
    """A row for each level in the order of the grid; `level`: that of all cells where the grid has none.

    Of an even number the median is the lower of the two in the middle: a run, or a setting, that there is. Empty where
    nothing was measured against gold tags, or where there is one setting.
    """
    by_level: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        by_level.setdefault(str(cell["options"].get(LEVEL, level)), []).append(cell)
    rows = []
    for name, own in by_level.items():
        settings = sorted((run for cell in own if (run := _median_run(cell))), key=_height)
        if settings and len(cells) > 1:
            best, middle = settings[-1], settings[(len(settings) - 1) // 2]
            figures = {figure: (best[figure], middle[figure]) for figure in FIGURES}
            rows.append(SettingsRow(name, len(own), sum(len(cell["runs"]) for cell in own), figures))
    return rows


def _median_run(cell: Mapping[str, Any]) -> dict[str, float] | None:
    """The figures of the cell's median seed by one-to-one accuracy; None where no seed has any."""
    runs = []
    for run in cell["runs"]:
        figures = {figure: value for figure in FIGURES if (value := number(run.get(figure))) is not None}
        if len(figures) == len(FIGURES):
            runs.append(figures)
    runs.sort(key=_height)
    return runs[(len(runs) - 1) // 2] if runs else None


def _height(figures: Mapping[str, float]) -> float:
    return figures[SORTED_BY]
