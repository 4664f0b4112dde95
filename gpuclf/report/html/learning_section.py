"""Learning curves: held-out metric and mistakes by epoch, each cell its mean over folds and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuclf.report.html.markup import Markup, joined, name_text, tag
from gpuclf.report.html.mean_curves import Curve, MeanCurves
from gpuclf.report.html.svg import Frame, chart, frame, padded, polyline, power_ticks, whole_ticks
from gpuclf.report.summary import cell_label

_CELLS = 40
_NAMED = 12
_TRAINING = (
    "fit/mistakes",
    "fit/gap",
    "fit/gradient_norm",
    "fit/loss",
    "fit/objective",
    "fit/oob_accuracy",
    "fit/depth",
)  # the first two that there are
# Of a search over graphs, whose steps are its moves.
_ALONG = ("fit/outside_accuracy", "held-out accuracy of each model of the search")
_OF_MOVES = (
    ("fit/gain", "what the criterion gives for each move"),
    ("fit/distance", "G² (or its like) of each move"),
    ("fit/dof", "degrees of freedom of each move"),
    ("fit/log10_p", "log10 of each move's p"),
)
_FALLING = frozenset({"fit/gap", "fit/gradient_norm"})  # by powers of ten, so on a log scale

Picture = tuple[str, str, str]  # phase, figure, heading


def wanted_figures(metric: str) -> frozenset[str]:
    """What is read of metrics.jsonl for these pictures."""
    return frozenset({f"held_out/{metric}", *_TRAINING, _ALONG[0], *(figure for figure, _ in _OF_MOVES)})


def learning_section(
    curves: MeanCurves,
    cells: Sequence[Mapping[str, Any]],
    best: Mapping[str, Any] | None,
    pictures: Sequence[Picture] | None = None,
) -> Markup:
    """A chart for each figure that has more than one step; `pictures`: other ones than a classifier's."""
    chosen = None if best is None else int(best["cell"])
    metric = "accuracy" if best is None else str(best["metric"])
    labels = [cell_label(cell["options"]) for cell in cells]
    drawn: list[Markup] = []
    shown: set[int] = set()
    for phase, figure, heading in _pictures(curves, metric) if pictures is None else pictures:
        seen = {cell: _scaled(curve, figure) for cell, curve in curves.of(phase, figure).items()}
        series = {cell: curve for cell, curve in seen.items() if np.isfinite(curve[1]).any()}
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


def _pictures(curves: MeanCurves, metric: str) -> list[Picture]:
    for phase in ("grid", "refit"):
        if curves.of(phase, _OF_MOVES[1][0]):
            return [(phase, *_ALONG), *((phase, *of_move) for of_move in _OF_MOVES)]
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
    share, falling = figure.startswith(("held_out/", "gold/")) or figure == _ALONG[0], figure in _FALLING
    low, high = padded([float(values.min()), float(values.max())], bounds=(0.0, 1.0) if share else None)
    if not (share or falling) and values.min() >= 0:
        low = 0.0
    air = (last - first) * 0.02
    drawn = frame(
        (first - air, last + air),
        (low, high),
        labels=("step", ""),
        x_ticks=whole_ticks(first, last, 6),
        y_ticks=power_ticks(low, high, 5) if falling else None,
    )
    lines = [
        _line(
            drawn, curve, f"{labels[cell]}: {heading}", falling, None if cell == chosen else _colour(cell, len(labels))
        )
        for cell, curve in series.items()
    ]
    return tag("figure", tag("figcaption", heading), chart(drawn, *lines, title=f"{heading} by step"))


def _line(drawn: Frame, curve: Curve, name: str, falling: bool, colour: str | None) -> Markup:
    """A cell's line, or a dot where there is one step only; colour None: the chosen cell."""
    steps, values = curve
    shown = np.isfinite(values)
    points = [drawn.point(float(s), float(v)) for s, v in zip(steps[shown], values[shown], strict=True)]
    last = 10.0 ** values[shown][-1] if falling else values[shown][-1]
    title = f"{name} {last:.6g} at step {steps[shown][-1]}"
    if len(points) == 1:
        (x, y), style = points[0], None if colour is None else f"fill:{colour}"
        return tag("circle", tag("title", title), cx=x, cy=y, r=3.5, class_="dot", style=style)
    kind = "line chosen" if colour is None else "line other"
    return polyline(points, kind, title, style="" if colour is None else f"stroke:{colour}")


def _scaled(curve: Curve, figure: str) -> Curve:
    """The logarithm of figures that fall by powers of ten; of 0 it is nan, which is not drawn."""
    if figure not in _FALLING:
        return curve
    steps, values = curve
    return steps, np.log10(np.where(values > 0, values, np.nan))


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


def _key(cell: int, labels: Sequence[str]) -> str:
    return f"background:{_colour(cell, len(labels))}"


def _colour(cell: int, count: int) -> str:
    """From violet over red and yellow to green along the grid: all but the blue of the chosen cell."""
    return f"hsl({(285 + 235 * cell / max(count - 1, 1)) % 360:.0f} 60% 47%)"
