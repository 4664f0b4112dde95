"""The grid as a picture: the metric over one option, error bars one standard deviation, the chosen cell marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuclf.report.grid_layout import GridLayout, GridPanel, GridPoint, grid_layout
from gpuclf.report.html.markup import Markup, folded, joined, name_text, table, tag
from gpuclf.report.html.svg import Frame, chart, error_bar, frame, padded, picture, polyline, round_ticks
from gpuclf.report.strict_json import number
from gpuclf.report.summary import NOT_EVALUATED, cell_failure, cell_label, metric_names, option_text, short_names

_ROWS = 60
_ROW = 17.0
_TABLE_ROWS = 500
_FAILURES = 20


def grid_section(cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None) -> Markup:
    """Picture, failed cells by name, and the table of all cells."""
    metric = str(best["metric"]) if best is not None else next(iter(metric_names(cells)), "accuracy")
    layout = grid_layout(cells, best, metric)
    parts: list[Markup | None] = []
    if layout is None:
        parts.append(tag("p", _nothing(cells), class_="note"))
    else:
        parts.append(tag("p", _caption(layout, cells), class_="note"))
        parts.append(_panels(layout) if layout.axis is not None else _rows(layout))
    parts.append(_failures(cells))
    if metric_names(cells):
        parts.append(folded(f"All {len(cells):,} cells" if len(cells) > 1 else "The cell", _table(cells, best)))
    return joined(*parts)


def _nothing(cells: Sequence[Mapping[str, Any]]) -> str:
    if all(cell_failure(cell) == NOT_EVALUATED for cell in cells):
        return "No documents were held out, so nothing was compared: the model was trained once, on all rows."
    return "No cell has a finite result."


def _caption(layout: GridLayout, cells: Sequence[Mapping[str, Any]]) -> str:
    runs = max(len(cell.get("runs", ())) for cell in cells)
    bars = f"; mean of {runs} runs (folds × seeds), bars are ± one standard deviation" if runs > 1 else ""
    measured = layout.measured[0].upper() + layout.measured[1:]
    return f"{measured}{bars}. The ring marks the chosen cell."


def _panels(layout: GridLayout) -> Markup:
    """One chart a panel, all with the same axes."""
    low, high = padded(_ends(layout.points), least=0.004, bounds=layout.bounds)
    spots = [at for at, _ in layout.ticks] + [point.at for point in layout.points]
    air = (max(spots) - min(spots)) * 0.05 or 0.5
    single = len(layout.panels) == 1
    drawn = frame(
        (min(spots) - air, max(spots) + air),
        (low, high),
        size=(680.0, 320.0) if single else (340.0, 230.0),
        labels=(f"{layout.axis}{' (log)' if layout.log else ''}", layout.metric if layout.bounds else ""),
        x_ticks=layout.ticks,
    )
    charts = [
        tag("figure", tag("figcaption", panel.title) if panel.title else None, _panel(panel, drawn, layout))
        for panel in layout.panels
    ]
    return tag("div", *charts, class_="panels")


def _panel(panel: GridPanel, drawn: Frame, layout: GridLayout) -> Markup:
    sound = [point for point in panel.points if point.mean is not None]
    line = [drawn.point(point.at, point.mean) for point in sound if point.mean is not None]
    marks = [_mark(point, drawn, layout.metric) for point in panel.points]
    title = f"{layout.metric} over {layout.axis} {panel.title}"
    return chart(drawn, polyline(line, "line chosen", title), *marks, title=title)


def _mark(point: GridPoint, drawn: Frame, metric: str) -> Markup:
    if point.mean is None:
        x, y = drawn.x.at(point.at), drawn.y.start - 6
        cross = f"M{x - 4:g} {y - 4:g}l8 8m0-8l-8 8"
        return tag("path", tag("title", _told(point, metric)), d=cross, class_="failed")
    x, y = drawn.point(point.at, point.mean)
    label = min(drawn.y.at(point.mean + (point.sd or 0.0)), y - 8) - 5  # above the bar
    return tag(
        "g",
        error_bar(drawn, point.at, point.mean, point.sd) if point.sd else None,
        tag("circle", cx=x, cy=y, r=3.5, class_="dot"),
        tag("circle", cx=x, cy=y, r=8, class_="ring") if point.chosen else None,
        tag("text", f"{point.mean:.4f}", x=x, y=label, text_anchor="middle", class_="label") if point.chosen else None,
        tag("title", _told(point, metric)),
    )


def _rows(layout: GridLayout) -> Markup:
    """The cells one below the other; of many those with the highest means, and the chosen one."""
    sound = [point for point in layout.points if point.mean is not None]
    shown = sound
    if len(sound) > _ROWS:
        shown = sorted(sound, key=lambda point: (not point.chosen, -(point.mean or 0.0), point.cell))[:_ROWS]
        shown.sort(key=lambda point: (-(point.mean or 0.0), point.cell))
    low, high = padded(_ends(shown), least=0.004, bounds=layout.bounds)
    left = min(12.0 + 6.6 * max(len(name_text(point.label, 48)) for point in shown), 330.0)
    height = _ROW * len(shown) + 40
    drawn = frame((low, high), (0.0, 1.0), size=(left + 400, height), margins=(left, 6.0, 16.0, 34.0))
    content = [
        tag("line", x1=drawn.x.at(at), x2=drawn.x.at(at), y1=4, y2=height - 34, class_="grid")
        for at, _ in round_ticks(low, high, 5)
    ]
    content += [
        tag("text", text, x=drawn.x.at(at), y=height - 20, text_anchor="middle")
        for at, text in round_ticks(low, high, 5)
    ]
    content.append(tag("text", layout.metric, x=left + 192, y=height - 4, text_anchor="middle", class_="label"))
    for place, point in enumerate(shown):
        content.append(_row(point, drawn, 12 + _ROW * place, left, layout.metric))
    note = f"The {_ROWS} best of {len(layout.points):,} cells." if len(shown) < len(sound) else None
    drawing = picture(drawn.width, height, *content, title=f"{layout.metric} of each cell")
    return joined(tag("p", note, class_="note") if note else None, drawing)


def _row(point: GridPoint, drawn: Frame, y: float, left: float, metric: str) -> Markup:
    assert point.mean is not None
    x, bar = drawn.x.at(point.mean), None
    if point.sd:
        bar = tag("path", d=f"M{drawn.x.at(point.mean - point.sd)} {y:g}H{drawn.x.at(point.mean + point.sd)}")
        bar = tag("g", bar, class_="error")
    return tag(
        "g",
        tag("text", name_text(point.label, 48), x=left - 8, y=y + 4, text_anchor="end"),
        bar,
        tag("circle", cx=x, cy=y, r=3.5, class_="dot"),
        tag("circle", cx=x, cy=y, r=7, class_="ring") if point.chosen else None,
        tag("title", _told(point, metric)),
    )


def _told(point: GridPoint, metric: str) -> str:
    if point.mean is None:
        return f"{point.label}: failed: {point.failure}"
    spread = f" ± {point.sd:.4f}" if point.sd is not None else ""
    return f"{point.label}: {metric} {point.mean:.4f}{spread}{' (chosen)' if point.chosen else ''}"


def _ends(points: Sequence[GridPoint]) -> list[float]:
    sound = [point for point in points if point.mean is not None]
    return [point.mean + sign * (point.sd or 0.0) for point in sound for sign in (-1, 1) if point.mean is not None]


def _failures(cells: Sequence[Mapping[str, Any]]) -> Markup | None:
    failed = [(cell, why) for cell in cells if (why := cell_failure(cell)) not in (None, NOT_EVALUATED)]
    if not failed:
        return None
    items = [
        tag("li", tag("b", name_text(cell_label(cell["options"]), 120)), f": {name_text(str(why), 200)}")
        for cell, why in failed[:_FAILURES]
    ]
    more = tag("li", f"and {len(failed) - _FAILURES:,} more") if len(failed) > _FAILURES else None
    count = f"{len(failed):,} of {len(cells):,} cells failed and {'was' if len(failed) == 1 else 'were'} not compared:"
    return tag("div", tag("p", count), tag("ul", *items, more), class_="warning")


def _table(cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None) -> Markup:
    keys = list(dict.fromkeys(key for cell in cells for key in cell["options"]))
    names, metrics = short_names(keys), metric_names([c for c in cells if cell_failure(c) is None])
    metrics = [metric for metric in metrics if metric not in ("steps", "status")]
    rows = []
    for index, cell in enumerate(cells[:_TABLE_ROWS]):
        chosen = best is not None and best["cell"] == index
        failure = cell_failure(cell)
        options = [name_text(option_text(cell["options"].get(key))) for key in keys]
        figures = [_mean_sd(cell, metric) if failure is None else "" for metric in metrics]
        outcome = "chosen" if chosen else "" if failure is None else name_text(failure, 80)
        rows.append([*options, *figures, str(len(cell.get("runs", ()))), outcome])
    head = [*(names[key] for key in keys), *metrics, "runs", ""]
    more = f"The first {_TABLE_ROWS} of {len(cells):,}; metrics.json has all." if len(cells) > _TABLE_ROWS else None
    return joined(
        table(head, rows, numbers=range(len(head) - 1), class_="sortable"),
        tag("p", more, class_="note") if more else None,
    )


def _mean_sd(cell: Mapping[str, Any], metric: str) -> str:
    mean, sd = (number((cell.get(part) or {}).get(metric)) for part in ("mean", "std"))
    if mean is None:
        return ""
    return f"{mean:.4f}" if sd is None or len(cell.get("runs", ())) < 2 else f"{mean:.4f} ± {sd:.4f}"
