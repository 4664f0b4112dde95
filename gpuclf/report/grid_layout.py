"""The grid as a picture, before it is drawn: which option runs along the axis, and where each cell stands.

Along the axis goes the numeric option with the most values (C, alpha …), on a log scale where its values span a factor
of ten; every combination of the other options is a panel. Without a numeric option, or with more combinations than can
be looked at, the cells stand one below the other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuclf.report.strict_json import number
from gpuclf.report.summary import cell_failure, cell_label, option_text, short_names

_PANELS = 24
_TICKS = 14
_JOINT = "log_joint"
_OF_TAGS = frozenset({"many_to_one", "one_to_one", "v_measure"})


@dataclass(frozen=True)
class GridPoint:
    """A cell in the picture. mean None: it failed, and `failure` says why; sd None: a single run."""

    cell: int
    at: float
    label: str
    mean: float | None
    sd: float | None
    failure: str | None
    chosen: bool


@dataclass(frozen=True)
class GridPanel:
    """Cells that differ in the option of the axis alone, from left to right. title: their other options."""

    title: str
    points: tuple[GridPoint, ...]


@dataclass(frozen=True)
class GridLayout:
    """axis: name of the option along the x axis, None where the cells stand one below the other (`at`: row number)."""

    metric: str
    axis: str | None
    log: bool
    ticks: tuple[tuple[float, str], ...]
    panels: tuple[GridPanel, ...]

    @property
    def points(self) -> list[GridPoint]:
        return [point for panel in self.panels for point in panel.points]

    @property
    def measured(self) -> str:
        """The metric, and what it was measured on."""
        if self.metric == _JOINT:
            return "log joint"
        return f"{self.metric} against gold tags" if self.metric in _OF_TAGS else f"held-out {self.metric}"

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Between what the metric lies, None for one without bounds."""
        return None if self.metric == _JOINT else (0.0, 1.0)


def grid_layout(cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None, metric: str) -> GridLayout | None:
    """The layout of a table of cells (metrics.json "cells" and "best"); None where no cell has the metric."""
    if not any(_mean(cell, metric) is not None for cell in cells):
        return None
    chosen = None if best is None else best["cell"]
    key = _axis_key(cells)
    if key is not None:
        groups: dict[str, list[int]] = {}
        for index, cell in enumerate(cells):
            others = {name: value for name, value in cell["options"].items() if name != key}
            groups.setdefault(cell_label(others) if others else "", []).append(index)
        if len(groups) <= _PANELS:
            return _along(cells, key, groups, metric, chosen)
    points = tuple(_point(cells[i], i, float(i), metric, chosen) for i in range(len(cells)))
    return GridLayout(metric, None, False, (), (GridPanel("", points),))


def _along(
    cells: Sequence[Mapping[str, Any]], key: str, groups: Mapping[str, list[int]], metric: str, chosen: int | None
) -> GridLayout:
    values = {_value(cell, key) for cell in cells}
    place, log = _places([value for value in values if value is not None])
    panels = []
    for title, members in groups.items():
        points = [_point(cells[i], i, place[_known(cells[i], key)], metric, chosen) for i in members]
        panels.append(GridPanel(title, tuple(sorted(points, key=lambda point: point.at))))
    ticks = [(at, option_text(value)) for value, at in sorted(place.items())]
    every = math.ceil(len(ticks) / _TICKS)
    name = short_names(list(cells[0]["options"]))[key]
    return GridLayout(metric, name, log, tuple(ticks[::every]), tuple(panels))


def _axis_key(cells: Sequence[Mapping[str, Any]]) -> str | None:
    """The option that is a number in every cell and has the most values; the first of those."""
    counts: dict[str, int] = {}
    for key in cells[0]["options"]:
        values = [_value(cell, key) for cell in cells]
        if None not in values and len(set(values)) > 1:
            counts[key] = len(set(values))
    return max(counts, key=lambda key: counts[key]) if counts else None


def _places(values: Sequence[float]) -> tuple[dict[float, float], bool]:
    """Where each value stands, and whether by its logarithm. inf, and 0 on a log scale, stand a step beyond."""
    finite = sorted(value for value in values if math.isfinite(value))
    positive = [value for value in finite if value > 0]
    log = len(positive) > 1 and finite[0] >= 0 and positive[-1] >= 10 * positive[0]
    shown = positive if log else finite
    place = {value: math.log10(value) if log else value for value in shown}
    spots = list(place.values()) or [0.0]
    step = (spots[-1] - spots[0]) / max(len(spots) - 1, 1) or 1.0
    if log and finite[0] == 0:
        place[0.0] = spots[0] - step
    if math.inf in values:
        place[math.inf] = spots[-1] + step
    if -math.inf in values:
        place[-math.inf] = spots[0] - step
    return place, log


def _point(cell: Mapping[str, Any], index: int, at: float, metric: str, chosen: int | None) -> GridPoint:
    mean, sd = _mean(cell, metric), number((cell.get("std") or {}).get(metric))
    failure = None if mean is not None else cell_failure(cell) or f"has no {metric}"
    several = len(cell.get("runs", ())) > 1
    return GridPoint(index, at, cell_label(cell["options"]), mean, sd if several else None, failure, index == chosen)


def _mean(cell: Mapping[str, Any], metric: str) -> float | None:
    mean = number((cell.get("mean") or {}).get(metric))
    return mean if mean is not None and math.isfinite(mean) and cell_failure(cell) is None else None


def _value(cell: Mapping[str, Any], key: str) -> float | None:
    value = cell["options"].get(key)
    figure = number(value) if not isinstance(value, str) or value in ("inf", "-inf") else None
    return None if figure is None or math.isnan(figure) else figure


def _known(cell: Mapping[str, Any], key: str) -> float:
    value = _value(cell, key)
    assert value is not None
    return value
