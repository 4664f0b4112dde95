"""Learning curves: held-out metric and mistakes by epoch, each cell its mean over folds and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuclf.report.html.markup import Markup, joined, name_text, tag
from gpuclf.report.html.mean_curves import Curve, MeanCurves
from gpuclf.report.html.svg import chart, frame, padded, polyline, whole_ticks
from gpuclf.report.summary import cell_label

_CELLS = 40
_NAMED = 12
_TRAINING = ("fit/mistakes", "fit/objective", "fit/loss")  # the first two of those that a learner tells


def wanted_figures(metric: str) -> frozenset[str]:
    """What is read of metrics.jsonl for these pictures."""
    return frozenset({f"held_out/{metric}", *_TRAINING})


def learning_section(curves: MeanCurves, cells: Sequence[Mapping[str, Any]], best: Mapping[str, Any] | None) -> Markup:
    """A chart for each figure that has more than one step."""
    chosen = None if best is None else int(best["cell"])
    metric = "accuracy" if best is None else str(best["metric"])
    labels = [cell_label(cell["options"]) for cell in cells]
    drawn: list[Markup] = []
    shown: set[int] = set()
    for phase, figure, heading in _pictures(curves, metric):
        series = {cell: curve for cell, curve in curves.of(phase, figure).items() if np.isfinite(curve[1]).any()}
        if max((len(steps) for steps, _ in series.values()), default=0) < 2:
            continue
        kept = _kept(series, chosen)
        if phase == "grid":
            shown |= set(kept)
        drawn.append(_chart({cell: series[cell] for cell in kept}, chosen, labels, heading, figure))
    if not drawn:
        return tag("p", "Training took a single step: there is no curve to show.", class_="note")
    left_out = len(cells) - len(shown)
    note = f"The curves of {len(shown)} of {len(cells):,} cells." if shown and left_out else None
    return joined(
        tag("div", *drawn, class_="panels"), _legend(sorted(shown), chosen, labels), tag("p", note) if note else None
    )


def _pictures(curves: MeanCurves, metric: str) -> list[tuple[str, str, str]]:
    """(phase, figure, heading)."""
    training = [figure for figure in _TRAINING if curves.of("grid", figure) or curves.of("refit", figure)][:2]
    names = {figure: figure.removeprefix("fit/") for figure in training}
    return [
        ("grid", f"held_out/{metric}", f"held-out {metric}"),
        *(("grid", figure, f"{names[figure]} in training, mean over folds") for figure in training),
        *(("refit", figure, f"{names[figure]} in training, all rows") for figure in training[:1]),
    ]


def _kept(series: Mapping[int, Curve], chosen: int | None) -> list[int]:
    """Cells spread evenly over the grid when there are many, and the chosen one, which is drawn last."""
    others = [cell for cell in sorted(series) if cell != chosen]
    if len(others) > _CELLS:
        others = [others[i] for i in np.linspace(0, len(others) - 1, _CELLS).round().astype(int)]
    return others + [chosen] * (chosen in series) if chosen is not None else others


def _chart(series: Mapping[int, Curve], chosen: int | None, labels: Sequence[str], heading: str, figure: str) -> Markup:
    last = max(int(steps[-1]) for steps, _ in series.values())
    first = min(int(steps[0]) for steps, _ in series.values())
    values = np.concatenate([curve[np.isfinite(curve)] for _, curve in series.values()])
    held_out = figure.startswith("held_out/")
    low, high = padded([float(values.min()), float(values.max())], bounds=(0.0, 1.0) if held_out else None)
    if not held_out and values.min() >= 0:
        low = 0.0
    air = (last - first) * 0.02
    drawn = frame((first - air, last + air), (low, high), labels=("step", ""), x_ticks=whole_ticks(first, last, 6))
    lines = []
    for cell, (steps, curve) in series.items():
        points = [
            drawn.point(float(step), float(value))
            for step, value in zip(steps, curve, strict=True)
            if np.isfinite(value)
        ]
        title = f"{labels[cell]}: {heading} {curve[-1]:.6g} at step {steps[-1]}"
        kind = "line chosen" if cell == chosen else "line other"
        lines.append(polyline(points, kind, title, style="" if cell == chosen else _hue(cell, len(labels))))
    return tag("figure", tag("figcaption", heading), chart(drawn, *lines, title=f"{heading} by step"))


def _legend(shown: Sequence[int], chosen: int | None, labels: Sequence[str]) -> Markup | None:
    """Names by colour when they are few; otherwise a line tells its cell on hovering."""
    if len(shown) < 2:
        return None
    if len(shown) > _NAMED:
        note = "The strong line is the chosen cell; the colours of the others go from the first cell to the last"
        return tag("p", f"{note}; point at a line to see which one it is.", class_="note")
    items = [
        tag(
            "li",
            tag(
                "i",
                class_="key chosen" if cell == chosen else "key",
                style="" if cell == chosen else _key(cell, labels),
            ),
            name_text(labels[cell]) + (" (chosen)" if cell == chosen else ""),
        )
        for cell in shown
    ]
    return tag("ul", *items, class_="legend")


def _hue(cell: int, count: int) -> str:
    return f"stroke:{_colour(cell, count)}"


def _key(cell: int, labels: Sequence[str]) -> str:
    return f"background:{_colour(cell, len(labels))}"


def _colour(cell: int, count: int) -> str:
    """From violet over red and yellow to green along the grid: all but the blue of the chosen cell."""
    return f"hsl({(285 + 235 * cell / max(count - 1, 1)) % 360:.0f} 60% 47%)"
