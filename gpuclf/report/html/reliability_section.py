"""The reliability curve: how often an answer given with some confidence is right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from gpuclf.metrics.calibration import top_class_reliability
from gpuclf.report.html.markup import Markup, joined, tag
from gpuclf.report.html.svg import chart, frame, polyline
from gpuclf.report.reliability_figure import BINS
from gpuclf.report.strict_json import number

_TENTHS = [(n / 5, f"{n / 5:.1f}") for n in range(6)]


def reliability_section(
    gold: Tensor, log_probabilities: Tensor, calibration: Mapping[str, Any] | None = None
) -> Markup:
    """gold (n,) int64, log P(class | document) (n, K); calibration: that of metrics.json, if there is one."""
    found = top_class_reliability(log_probabilities.exp(), gold, BINS)
    documents = found.documents.tolist()
    drawn = frame(
        (0.0, 1.0), (0.0, 1.0), size=(460.0, 400.0), labels=("confidence", "share that is right"), x_ticks=_TENTHS
    )
    most = max(documents)
    points, bars = [], []
    for place, count in enumerate(documents):
        if not count:
            continue
        sure, right = float(found.confidence[place]), float(found.accuracy[place])
        told = f"confidence {sure:.3f}: {right:.1%} of {count:,} documents are right"
        x, y = drawn.point(sure, right)
        points.append((x, y, told, 2.0 + 4.0 * (count / most) ** 0.5))
        left, end = (drawn.x.at(float(edge)) for edge in found.edges[place : place + 2])
        height = 0.25 * (drawn.y.start - drawn.y.end) * count / most
        bar = tag("rect", tag("title", told), x=left + 1, width=end - left - 2, y=drawn.y.start - height, height=height)
        bars.append(bar)
    diagonal = polyline(
        [drawn.point(0, 0), drawn.point(1, 1)], "line ideal", "confidence equals the share that is right"
    )
    curve = polyline([(x, y) for x, y, *_ in points], "line", "reliability", style="stroke:var(--accent)")
    dots = [tag("circle", tag("title", told), cx=x, cy=y, r=radius, class_="dot") for x, y, told, radius in points]
    return joined(
        tag("p", _said(found.expected_calibration_error), class_="note"),
        None if calibration is None else tag("p", _calibrated(calibration), class_="note"),
        chart(drawn, tag("g", *bars, class_="histogram"), diagonal, curve, *dots, title="reliability"),
    )


def no_reliability(learner: str) -> Markup:
    """Why there is no such curve."""
    said = (
        f"{learner} gives scores, not probabilities, so there is no confidence to be believed or not. With calibrate: "
        "platt (or isotonic, temperature) in the config, probabilities are learnt on the held-out documents."
    )
    return tag("p", said, class_="note")


def _calibrated(calibration: Mapping[str, Any]) -> str:
    """By what, on what, and what it did to the held-out documents."""
    method, rows = calibration["method"], str(calibration["rows"]).replace("_", "-")
    told = calibration.get("temperature")
    warmth = "" if told is None else f" (T = {told:.4g})"
    held = "; ".join(
        f"{name.replace('_', ' ')} {_change(calibration, name)}" for name in ("log_loss", "expected_calibration_error")
    )
    return (
        f"Probabilities are calibrated by {method}{warmth} on {calibration['documents']:,} {rows} documents, on which, "
        f"each judged by a calibration without it: {held}."
    )


def _change(calibration: Mapping[str, Any], name: str) -> str:
    after = number(calibration["after"][name])
    before = number((calibration.get("before") or {}).get(name))
    shown = "undefined" if after is None else f"{after:.4f}"
    return shown if before is None else f"{shown} (before: {before:.4f})"


def _said(error: float) -> str:
    value = "undefined" if math.isnan(error) else f"{error:.4f}"
    return (
        f"Expected calibration error {value} ({BINS} bins). On the dashed line confidence is right; below, the model "
        "is surer than it should be. Grey bars: documents by confidence."
    )
