"""The grid as a picture for TensorBoard: the metric over one option, error bars one standard deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpuclf.report.grid_layout import GridLayout, GridPanel, grid_layout
from gpuclf.report.plots import plain_text
from gpuclf.report.visible_text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS = 60
_ACROSS = 3  # panels beside each other


def grid_figure(cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None) -> Figure | None:
    """The picture of metrics.json "cells" and "best"; None with a single cell, or where none has a finite result."""
    metric = None if best is None else str(best["metric"])
    layout = grid_layout(cells, best, metric) if metric is not None and len(cells) > 1 else None
    if layout is None:
        return None
    with plain_text():
        return _rows(layout) if layout.axis is None else _panels(layout)


def _panels(layout: GridLayout) -> Figure:
    from matplotlib.figure import Figure

    across = min(len(layout.panels), _ACROSS)
    down = -(-len(layout.panels) // across)
    size = (7.5, 4.8) if across == 1 else (4.2 * across, 3.2 * down + 0.4)
    figure = Figure(figsize=size, dpi=100, layout="constrained")
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for axes, panel in zip(grid.flat, layout.panels, strict=False):
        _panel(axes, panel)
        axes.set_title(visible(panel.title, 60), fontsize=9)
        axes.set_xticks([at for at, _ in layout.ticks], [text for _, text in layout.ticks], fontsize=8)
        axes.grid(alpha=0.3)
        axes.margins(y=0.12)
    for axes in grid.flat[len(layout.panels) :]:
        axes.set_visible(False)
    figure.supxlabel(f"{layout.axis}{' (log)' if layout.log else ''}", fontsize=10)
    figure.supylabel(layout.measured, fontsize=10)
    return figure


def _panel(axes: Axes, panel: GridPanel) -> None:
    sound = [(point.at, point.mean, point.sd or 0.0) for point in panel.points if point.mean is not None]
    if sound:
        at, mean, sd = zip(*sound, strict=True)
        axes.errorbar(at, mean, yerr=sd, marker="o", markersize=4, capsize=3, color="C0")
    failed = [point.at for point in panel.points if point.mean is None]
    axes.plot(failed, [0.03] * len(failed), "x", color="C3", transform=axes.get_xaxis_transform())
    for point in panel.points:
        if point.chosen and point.mean is not None:
            axes.plot([point.at], [point.mean], "o", markersize=13, fillstyle="none", color="black")
            axes.annotate(
                f"{point.mean:.4f}",
                (point.at, point.mean + (point.sd or 0.0)),
                (0, 5),
                textcoords="offset points",
                ha="center",
            )


def _rows(layout: GridLayout) -> Figure:
    """Cells one below the other; of many the best ones."""
    from matplotlib.figure import Figure

    sound = sorted((point for point in layout.points if point.mean is not None), key=lambda p: -(p.mean or 0.0))
    shown = sorted(sound[:_ROWS], key=lambda point: point.at)
    figure = Figure(figsize=(9.0, 1.2 + 0.25 * len(shown)), dpi=100, layout="constrained")
    axes = figure.add_subplot()
    for place, point in enumerate(shown):
        axes.errorbar([point.mean or 0.0], [place], xerr=[point.sd or 0.0], marker="o", markersize=4, color="C0")
        if point.chosen:
            axes.plot([point.mean or 0.0], [place], "o", markersize=12, fillstyle="none", color="black")
    axes.set_yticks(range(len(shown)), [visible(point.label, 60) for point in shown], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(layout.measured)
    axes.grid(alpha=0.3, axis="x")
    return figure
