"""The table of Lee, Haghighi & Barzilay 2010: how a tagger does at its best and at its median setting, by level.

A setting is a cell of the grid; its figure is the median over its seeds. "best" is the best setting's figure, "median"
the median over all settings. Both look at gold tags: they describe the model, and choose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from gpuclf.report.strict_json import number

LEVEL = "model.level"
FIGURES = ("one_to_one", "many_to_one", "v_measure")


@dataclass(frozen=True)
class SettingsRow:
    """One level: its number of settings and of chains; by figure the (best, median) over the settings."""

    level: str
    settings: int
    chains: int
    figures: dict[str, tuple[float, float]]


def settings_rows(cells: Sequence[Mapping[str, Any]], level: str) -> list[SettingsRow]:
    """A row for each level in the order of the grid; `level`: that of all cells where the grid has none.

    Empty where nothing was measured against gold tags, or where there is one setting.
    """
    by_level: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        by_level.setdefault(str(cell["options"].get(LEVEL, level)), []).append(cell)
    rows = []
    for name, own in by_level.items():
        figures = {}
        for figure in FIGURES:
            medians = [median(values) for cell in own if (values := _finite(cell, figure))]
            if medians:
                figures[figure] = (max(medians), median(medians))
        if figures and len(cells) > 1:
            rows.append(SettingsRow(name, len(own), sum(len(cell["runs"]) for cell in own), figures))
    return rows


def _finite(cell: Mapping[str, Any], figure: str) -> list[float]:
    values = [number(run.get(figure)) for run in cell["runs"]]
    return [value for value in values if value is not None]
