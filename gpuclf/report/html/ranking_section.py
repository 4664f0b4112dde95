"""Precision over recall of every class, and their macro mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.metrics.ranking import average_precision
from gpuclf.report.html.markup import Markup, joined, name_text, tag
from gpuclf.report.html.svg import Frame, chart, frame, polyline
from gpuclf.report.ranking_curve import PrCurve, pr_curve, thin

_POINTS = 48
_NAMED = 6
_THIN = 250  # curves drawn thin: more of them are a grey field
_MACRO = np.linspace(0.0, 1.0, 101)
_TENTHS = [(n / 5, f"{n / 5:.1f}") for n in range(6)]


def ranking_section(gold: Tensor, scores: Tensor, classes: Sequence[str]) -> Markup:
    """gold (n,) int64, scores (n, K): posteriors where the learner gives probabilities, since joint scores of one
    document say nothing beside another's."""
    found = [
        (
            float(average_precision(scores[:, index], positive)),
            name,
            pr_curve(positive.numpy(), scores[:, index].numpy()),
        )
        for index, name in enumerate(classes)
        if bool((positive := gold == index).any())
    ]
    if not found:
        return tag("p", "No document is of a class that the model knows.", class_="note")
    worst = sorted(range(len(found)), key=lambda place: found[place][0])[:_NAMED]
    drawn = frame((0.0, 1.0), (0.0, 1.0), size=(560.0, 400.0), labels=("recall", "precision"), x_ticks=_TENTHS)
    others = [place for place in range(len(found)) if place not in worst][:_THIN]
    thin_lines = [_line(drawn, *found[place], class_="line thin") for place in others]
    named = [_line(drawn, *found[place], class_=f"line s{rank}") for rank, place in enumerate(worst)]
    mean = float(np.mean([precision for precision, _, _ in found]))
    macro_points = list(zip(*_macro([curve for _, _, curve in found]), strict=True))
    macro = polyline(
        [drawn.point(recall, precision) for recall, precision in macro_points],
        "line macro",
        f"macro mean of {len(found)} classes: average precision {mean:.4f}",
    )
    heading = "The lowest in colour" if len(found) > _NAMED else "By class"
    keys = [
        tag("li", tag("i", class_=f"key s{rank}"), f"{name_text(found[place][1])} {found[place][0]:.4f}")
        for rank, place in enumerate(worst)
    ]
    note = f"Mean average precision {mean:.4f} over {len(found):,} classes (the dark line). {heading}:"
    return joined(
        tag("p", note, class_="note"),
        tag("ul", *keys, class_="legend"),
        chart(drawn, *thin_lines, *named, macro, title="precision over recall"),
    )


def _line(drawn: Frame, precision: float, name: str, curve: PrCurve, *, class_: str) -> Markup:
    points = thin(curve, _POINTS)
    pixels = [
        drawn.point(float(recall), float(value)) for recall, value in zip(points.recall, points.precision, strict=True)
    ]
    return polyline(list(dict.fromkeys(pixels)), class_, f"{name}: average precision {precision:.4f}")


def _macro(curves: Sequence[PrCurve]) -> tuple[list[float], list[float]]:
    """Recall, and the mean over classes of the highest precision at that recall or beyond."""
    total: NDArray[np.float64] = np.zeros_like(_MACRO)
    for curve in curves:
        best_from = np.maximum.accumulate(curve.precision[::-1])[::-1]
        total += best_from[np.minimum(np.searchsorted(curve.recall, _MACRO - 1e-12), len(best_from) - 1)]
    return _MACRO.tolist(), (total / len(curves)).tolist()
